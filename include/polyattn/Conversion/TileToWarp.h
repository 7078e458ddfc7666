//===- TileToWarp.h - block programs to kernels of a GPU --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_TILETOWARP_H
#define POLYATTN_CONVERSION_TILETOWARP_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace polyattn {

struct TileToWarpOptions {
  /// Warps of a CTA, a power of two up to 16; 0 for four, or eight where loops carry much.
  int64_t warps = 0;
  /// Shared memory that a CTA may use, in bytes: 163 KiB on sm_80.
  int64_t sharedBytes = 163 * 1024;
  /// Whether loops over positions start the copies of the next block before they compute on this
  /// one, where shared memory has place for both.
  bool pipelineCopies = true;
};

/// Turns every tile.kernel into a gpu.func of one gpu.module @kernels, in the words of the warp
/// dialect: one CTA runs one program, program p being batch p / H and head p % H; of a kernel that
/// cuts positions it is segment p / (B H), and batch and head by the rest. Products of matrices round
/// their operands as their precision says, bf16, tf32 or split tf32, the same for all of a kernel
/// (--tile-set-precision); sums, states and all else are f32.
std::unique_ptr<mlir::Pass> createTileToWarpPass(const TileToWarpOptions &options = {});

/// States that a loop over positions updates as a whole become tiles that it carries, in registers;
/// products read a copy. The pass --tile-carry-states.
std::unique_ptr<mlir::Pass> createCarryStatesPass();
void registerCarryStatesPass();

/// Says of each loop of a kernel how many of its turns are computed at once, so that the values that
/// live at one time take about `registers` of a thread at most. The pass --warp-unroll-loops.
std::unique_ptr<mlir::Pass> createUnrollLoopsPass(int64_t registers);
void registerUnrollLoopsPass();

/// Registers the passes --tile-to-warp, --tile-carry-states and --warp-unroll-loops.
void registerTileToWarpPasses();

} // namespace polyattn

#endif // POLYATTN_CONVERSION_TILETOWARP_H

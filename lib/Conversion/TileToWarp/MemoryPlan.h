//===- MemoryPlan.h - what stays in shared memory ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States and weights are read again for every block of positions. What the tiles of a block leave
// free of shared memory is theirs, for the whole kernel.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORYPLAN_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORYPLAN_H

#include "Layout.h"
#include "dialects/Tile/Tile.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn::tile_to_warp {

struct MemoryPlan {
  /// Matrices of state that live in the workspace, in global memory.
  llvm::DenseSet<mlir::Operation *> workspaceStates;
  /// States of which shared memory has a copy in bf16, as products read it.
  llvm::DenseSet<mlir::Operation *> bf16Copies;
  /// What a CTA may take of shared memory, in bytes.
  int64_t sharedCapacity = 0;
  /// The bytes of it for weights, in program order.
  int64_t weightBytes = 0;
  /// The loops that copy the next block while they compute on this one.
  llvm::DenseSet<mlir::Operation *> doubleBufferedLoops;
  /// Whether what a map alone reads is copied, too. Without, its elements are loaded where they are
  /// needed, and every load is waited for.
  bool copiesMappedLoads = false;
  /// Loads that are copied, since their copies start before what is computed ahead of their use.
  llvm::DenseSet<mlir::Operation *> earlyLoads;
  /// Where tiles, buffers and stages are in shared memory, in the order in which the lowering asks;
  /// empty where each takes the lowest free place.
  std::vector<int64_t> sharedOffsets;

  /// The least that a kernel needs: its tiles, and with `copies` the bf16 copies of all states that
  /// products read. Without such a copy a tile of the state is copied for each product.
  static MemoryPlan minimal(tile::KernelOp kernel, const TileToWarpOptions &options, bool copies);
  /// Assigns what is left of shared memory, to the states, which are read and written, then to the
  /// weights.
  void assignRemaining(tile::KernelOp kernel, int64_t bytes);
};

/// The loop that carries a state and behind whose begin nothing reads or writes the buffer: its
/// memory is free from then on. Null where there is none.
mlir::scf::ForOp lastLoopOf(tile::BufferOp state);
/// Windows are read in whole fragments, also those at the end.
TileMemory bufferStorage(tile::BufferOp buffer);
TileMemory operandStorage(tile::BufferOp buffer);

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORYPLAN_H

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
  /// Matrices of state that are in the workspace.
  llvm::DenseSet<mlir::Operation *> distantStates;
  /// States of which shared memory has a copy in bf16, as products read it.
  llvm::DenseSet<mlir::Operation *> operandCopies;
  /// What weights may take, those first that come first.
  int64_t weightBytes = 0;
  /// Whether loops copy the next block while they compute on this one.
  bool pipelinesCopies = false;
  /// Where tiles, buffers and stages are in shared memory, in the order in which the lowering asks;
  /// empty where each takes the lowest free place.
  std::vector<int64_t> sharedOffsets;

  /// What a kernel takes at least: its tiles, and with `copies` those of all states that products
  /// read. Without one, a tile of the state is copied for each product.
  static MemoryPlan least(tile::KernelOp kernel, const TileToWarpOptions &options, bool copies);
  /// Gives out what is left: to the states, which are read and written, then to the weights.
  void giveOut(tile::KernelOp kernel, int64_t bytes);
};

/// Whether nothing reads or writes a state after the loop that carries it has begun: what lies
/// there from then on may be something else.
bool endsWhereLoopBegins(tile::BufferOp state);
/// Windows are read in whole pieces, also those at the end.
Storage bufferStorage(tile::BufferOp buffer);
Storage operandStorage(tile::BufferOp buffer);

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORYPLAN_H

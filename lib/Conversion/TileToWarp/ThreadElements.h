//===- ThreadElements.h - the elements of a thread --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_THREADELEMENTS_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_THREADELEMENTS_H

#include "Emitter.h"
#include "Layout.h"

namespace polyattn::tile_to_warp {

/// `count` indices from `base` on, which is a multiple of it.
Coordinates consecutive(mlir::Value base, int64_t count);

/// The run of elements of a thread in one of several passes over a tile: `number` is the thread's,
/// plus the number of threads for each pass before. Behind the last run of the layout there is
/// none.
ThreadElements elementsOfRun(Emitter &e, const ThreadLayout &layout, mlir::Value number);

/// The row and the column where the accumulators of a warp begin.
std::pair<mlir::Value, mlir::Value> firstAccumulator(Emitter &e, const ThreadLayout &layout,
                                                     const WarpLayout &warps, mlir::Value warp);
/// The accumulators of one lane.
ThreadElements elementsOfAccumulators(Emitter &e, const WarpTile &warpTile, mlir::Value lane);

/// The element that a thread sums up, and which part of it, in one of several passes as above; part
/// 0 has the sum.
struct LaneSum {
  mlir::Value element, part;
};
LaneSum laneSumOf(Emitter &e, const ThreadLayout &layout, mlir::Value number, mlir::Value lane);

/// The first of the two elements, eight apart, that a lane has of the 16 from `firstRow` on.
mlir::Value rowSumOf(Emitter &e, mlir::Value firstRow, mlir::Value lane);

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_THREADELEMENTS_H

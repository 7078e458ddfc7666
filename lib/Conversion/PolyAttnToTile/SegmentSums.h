//===- SegmentSums.h - the sums of segments of positions --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A head's positions may be cut into segments, which different programs sum up. One kernel stores
// what the keys of each segment add to the states. Programs that read a state begin with the sums
// of the segments behind them (StateProgram::begin), or find it where a second kernel has added
// these.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_SEGMENTSUMS_H
#define POLYATTN_CONVERSION_SEGMENTSUMS_H

#include "StateProgram.h"

namespace polyattn {

/// Sums up the keys of the program's segment in each of the states, from zeros, and stores the
/// sums.
void sumSegment(TileBuilder &builder, const ProgramContext &context,
                llvm::ArrayRef<StateProgram *> states);

/// Begins as `StateProgram::begin` does, adds the sums of segments, and stores what there is before
/// each, in `before(segment)`. `finishes` says whether the last one's sum is there. Without an
/// order there is one state, that of all segments, in `before(0)`.
void addSegments(TileBuilder &builder, const ProgramContext &context, StateProgram &state,
                 llvm::function_ref<StoredState(mlir::Value)> before, bool finishes);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_SEGMENTSUMS_H

//===- Liveness.h - how long the values of a tile kernel are used -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers are mutable, and a lowering may compute a value where it is used instead of where it is
// defined. Both make the question when a value is needed for the last time depend on more than its
// users; which values are computed late is the lowering's choice and comes in as a predicate.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_LIVENESS_H
#define POLYATTN_LIB_TILEANALYSIS_LIVENESS_H

#include "mlir/IR/Value.h"

namespace polyattn {

/// Whether a value is rows of a buffer as they stand there, or a view of some: lowerings read them
/// where they are used.
bool isViewOfBuffer(mlir::Value value);

/// Whether an op between `first` and `last`, which stand in one block in this order, writes to a
/// buffer, itself or inside its regions.
bool writesBuffersBetween(mlir::Operation *first, mlir::Operation *last);

/// Whether anything uses `value` when `loop`, which stands in the value's block or deeper, has
/// ended: after it, or in the next iteration of a loop around it.
bool isUsedAfter(mlir::Operation *loop, mlir::Value value);

/// The last op in the block of `value` that reads its memory, in program order, or the op that
/// defines it. Users of a result for which `isPassedOn` holds count as well: that result is
/// computed from `value` where it is used, or is a view of it. Null for an argument of a block
/// without users.
mlir::Operation *lastUse(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isPassedOn);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_LIVENESS_H

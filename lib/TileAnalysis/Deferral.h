//===- Deferral.h - values that are computed where they are used -*- C++
//-*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lowering need not keep every value of a tile kernel: it may *defer* one, which is never in
// memory and computed element by element inside of what uses it. Which values those are is the
// target's choice. What every choice has to observe is here: an op that is computed late must not
// read a buffer later than it was meant to, and an op that takes in others takes in their work.
//
// A target decides in program order. Whether a value is deferred then depends on values before it
// alone, which are known, and on its users' ops, not on what is decided of them.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_DEFERRAL_H
#define POLYATTN_LIB_TILEANALYSIS_DEFERRAL_H

#include "mlir/IR/Value.h"

namespace polyattn {

/// Says of tiles that come before the one at hand whether they are evaluated with what uses them:
/// because they are deferred, or because they are another view of memory.
using PassedOn = llvm::function_ref<bool(mlir::Value)>;

/// Whether evaluating `value` where it is used reads a buffer there.
bool readsBuffer(mlir::Value value, PassedOn isPassedOn);

/// How many of the ops that evaluating `value` where it is used computes `counts` holds for. An op
/// that several others use is computed for each of them.
int64_t countEvaluated(mlir::Value value, PassedOn isPassedOn,
                       llvm::function_ref<bool(mlir::Operation *)> counts);

/// Whether all users of `value` may compute it in place of its own op: they stand in its block, the
/// target `accepts` each use, and none reads there what has been written in between.
bool canMoveToUsers(mlir::Value value, PassedOn isPassedOn,
                    llvm::function_ref<bool(mlir::OpOperand &)> accepts);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_DEFERRAL_H

//===- Sides.h - vectors of queries and vectors of keys ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SIDES_H
#define POLYATTN_DIALECTS_SIDES_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// Whether a vector that is returned or summed up has the positions and heads of keys: gradients of
/// keys do, of which an `attend_backward` or an `attend {of_keys}` is the root. All others are
/// vectors of queries; so is the sum of both, whose sides share positions and heads.
bool isOfKeys(mlir::Value vector);
/// The same of a result of rows of an attend. States that it keeps have the heads of keys, or of
/// their gates.
bool hasRowsOfKeys(AttendOp attend, mlir::Value result);
/// The sequences [B, T, H, d] that vectors are read from, in the order of their arguments. Vectors
/// may be null.
llvm::SmallVector<mlir::BlockArgument> sequencesOf(llvm::ArrayRef<mlir::Value> vectors);
/// Those of an attend's keys, local keys and values.
llvm::SmallVector<mlir::BlockArgument> sequencesOfKeys(AttendOp attend);
/// Whether one term of a weight's gradient, whose vectors are of one side, is of keys.
bool isTermOfKeys(WeightGradientOp gradient, size_t term);
/// Whether all terms are of keys.
bool isOfKeys(WeightGradientOp gradient);

/// The running sum that a gradient is added to; null where there is none, or `value` no such
/// gradient.
mlir::Value runningSumOf(mlir::Value value);

/// Whether an attend is asked for its final state, and nobody for its rows.
bool givesStatesAlone(AttendOp attend);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_SIDES_H

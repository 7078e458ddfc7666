//===- SameValues.h - values that are the same by what computes them -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attends of one kernel compute the same from the same tensors, each for itself. These questions
// follow both computations back to where they begin. Nothing is changed.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_ANALYSIS_SAMEVALUES_H
#define POLYATTN_LIB_CONVERSION_ANALYSIS_SAMEVALUES_H

#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Whether an op gives the same wherever it stands among ops that it does not use.
bool isMovable(mlir::Operation *op);

/// Whether two ops of one kind compute the same from the same, as element-wise functions do.
bool haveSameRegions(mlir::Operation *a, mlir::Operation *b);

/// Whether two arguments of blocks are the same.
using SameArguments = llvm::function_ref<bool(mlir::BlockArgument, mlir::BlockArgument)>;

/// Whether both values are the same, or both null. Arguments of blocks are the same as themselves,
/// and where `areSame` says so.
bool areEqual(mlir::Value a, mlir::Value b, SameArguments areSame = {});

/// Whether `a` is the transpose of `b`.
bool areTransposed(mlir::Value a, mlir::Value b);

/// The row of `whole` with which `part` begins, where the rows of `part` are rows of `whole` that
/// follow each other.
std::optional<int64_t> findRows(mlir::Value part, mlir::Value whole);

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_ANALYSIS_SAMEVALUES_H

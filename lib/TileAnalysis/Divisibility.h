//===- Divisibility.h - what divides an index -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_DIVISIBILITY_H
#define POLYATTN_LIB_TILEANALYSIS_DIVISIBILITY_H

#include "mlir/IR/Operation.h"

namespace polyattn {

/// The greatest power of two that is known to divide `index`, an index or an integer, in every
/// iteration of the loops around it, by constants, induction variables, sums, differences and
/// products: at most 2^20, which stands for zero and for a null value, 1 where nothing is known.
/// Powers of two, as they alone still divide what wraps around or is truncated.
///
/// `passedOn` is asked about ops that this does not know: the operand whose value an op has, or
/// null.
int64_t knownDivisor(mlir::Value index,
                     llvm::function_ref<mlir::Value(mlir::Operation *op)> passedOn = nullptr);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_DIVISIBILITY_H

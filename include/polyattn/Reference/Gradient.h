//===- Gradient.h - gradients of the oracle ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a change of an argument does to a loss, from the definitions of the oracle themselves: by
// reverse mode, and by differences. No rule of the compiler's own differentiation is used here, so
// that each can be held against the other.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_GRADIENT_H
#define POLYATTN_REFERENCE_GRADIENT_H

#include "polyattn/Reference/Evaluate.h"
#include <map>
#include <string>

namespace polyattn {

/// Arrays by the names of arguments or of results.
using NamedArrays = std::map<std::string, Array>;

/// What numbers become on the way to a gradient, to learn how well it is determined: vectors, and
/// terms of sums and of slopes; exact where they are null.
struct GradientRounding {
  Rounding vectors, sums;
};

/// The gradients of a loss in the arguments that `wrt` names, where `ofResults` has the loss's
/// gradients in the results of the attention; one that is missing is zero. Each has the shape of
/// its argument. In f64, from every score by its definition; beside its arguments and gradients it
/// holds the vectors of one head. Fails with a diagnostic where there is no gradient: of the row's
/// largest score (`eps_mode = row_max`), in whole numbers.
mlir::FailureOr<NamedArrays> evaluateGradients(AttentionOp attention,
                                               llvm::ArrayRef<Array> arguments,
                                               const CallSizes &sizes, const NamedArrays &ofResults,
                                               llvm::ArrayRef<std::string> wrt,
                                               const GradientRounding &rounding = {});

/// A slope by differences, and about how far the last digits of f64 may have moved it.
struct Difference {
  double value = 0, rounding = 0;
};

/// How fast the same loss changes when the arguments change along `direction`, arrays by names of
/// arguments; what is missing stays. By four evaluations in f64, at plus and minus one and two
/// times `step` of the direction: what they miss is of the fourth power of `step`.
mlir::FailureOr<Difference> evaluateDifference(AttentionOp attention,
                                               llvm::ArrayRef<Array> arguments,
                                               const CallSizes &sizes, const NamedArrays &ofResults,
                                               const NamedArrays &direction, double step = 1e-5);

} // namespace polyattn

#endif // POLYATTN_REFERENCE_GRADIENT_H

//===- ExpPolynomial.h - a polynomial for exp -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_EXPPOLYNOMIAL_H
#define POLYATTN_REFERENCE_EXPPOLYNOMIAL_H

#include "llvm/Support/Error.h"
#include <vector>

namespace polyattn {

/// Lemma 3.1 of "Fast RoPE Attention" (Alman and Song 2025): the coefficients c_0, ..., c_g of a
/// polynomial with |P(x) - exp(x)| < error. The lemma has the interval [0, bound]. Here it is
/// [-bound, bound], since scores have both signs.
///
/// The lemma names no construction. This one truncates the Chebyshev series of exp where the sum
/// of the remaining coefficients is below `error`, so g has the order that the lemma gives. With
/// error = e exp(-bound) the error relative to exp is below e, and outputs of an attention then
/// have errors below 2e / (1 - e) times the largest value.
///
/// `error` is above 0 and below 0.1, as in the lemma. Fails for another `error`, for a `bound` that
/// is not above 0, and where `error` is below 1e-13 exp(bound), the rounding of f64.
llvm::Expected<std::vector<double>> expPolynomial(double error, double bound);

} // namespace polyattn

#endif // POLYATTN_REFERENCE_EXPPOLYNOMIAL_H

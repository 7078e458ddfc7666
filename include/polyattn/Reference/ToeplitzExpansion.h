//===- ToeplitzExpansion.h - the algorithm of Fast RoPE Attention -*- C++ -*-=//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Appendix D of "Fast RoPE Attention" (Alman and Song 2025) in f64, to the letter: a polynomial of
// scores that depend on the lag is a sum of rescaled Toeplitz matrices. It shares nothing with the
// interpreter of specs, which is compared with it. It is for few positions of W and small degrees:
// the number of terms is binomial(|S| + g, g).
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_TOEPLITZEXPANSION_H
#define POLYATTN_REFERENCE_TOEPLITZEXPANSION_H

#include "polyattn/Reference/RescaledToeplitz.h"

namespace polyattn {

/// One term of Lemma D.2: alpha_m and the exponents m.
struct ExpansionTerm {
  double factor = 0;
  /// One for each of the k summands.
  std::vector<int64_t> exponents;
};

/// The largest number of terms that an expansion may have, and of places of W.
constexpr int64_t kMaxExpansionTerms = 1 << 17, kMaxExpansionSummands = 256;

/// The number of terms of Lemma D.2, binomial(summands + degree, degree). Fails for negative
/// arguments, and above kMaxExpansionTerms or kMaxExpansionSummands.
llvm::Expected<int64_t> countExpansionTerms(int64_t summands, int64_t degree);

/// Lemma D.2, equation 2: P(z_1 + ... + z_k) as a sum of factor z_1^m(1) ... z_k^m(k), with P(z) =
/// polynomial[0] + polynomial[1] z + ... All m whose sum is at most the degree occur once, also
/// those whose factor is 0. Fails without a coefficient, and for too many terms.
llvm::Expected<std::vector<ExpansionTerm>> expandPolynomial(llvm::ArrayRef<double> polynomial,
                                                            int64_t summands);

/// Lemma D.1: the entry-wise product of powers of matrices, by Lemma 3.9. There is at least one
/// matrix, and an exponent >= 0 for each. Fails where they are not, or sizes differ.
llvm::Expected<RescaledToeplitz> monomial(llvm::ArrayRef<RescaledToeplitz> matrices,
                                          llvm::ArrayRef<int64_t> exponents);

/// One place of W's support S: the number W(i - j)[query, key] of each lag.
struct WeightPlace {
  /// Row and column of W, from 0: components of a query and of a key.
  int64_t query = 0, key = 0;
  /// 2T - 1 numbers for the lags i - j from -(T - 1) to T - 1. The causal mask ignores those of
  /// negative lags.
  std::vector<double> table;
};

/// Definition 1.1 for one head of T positions, with a polynomial P where the definition has exp:
///
///   A_ij = P(score_scale q_i^T W(i - j) k_j),  output = diag(A 1)^-1 A V.
///
/// The definition has score_scale = 1 / sqrt(d), the paper's introduction 1 / d.
struct GeneralRoPEAttention {
  /// [T, d], T >= 1.
  Array queries, keys;
  /// [T, dv].
  Array values;
  /// The support S: no place twice. An empty one leaves all scores 0.
  std::vector<WeightPlace> weight;
  double scoreScale = 1;
  /// Coefficients of P, that of degree 0 first; at least one.
  std::vector<double> polynomial;
  /// Whether position i sees positions j <= i only. A is then the entry-wise product with the
  /// Toeplitz matrix of the mask. The paper has no mask.
  bool causal = false;
};

struct ExpansionResult {
  /// [T, dv].
  Array output;
  /// The T numbers A 1.
  std::vector<double> rowSums;
  /// The number of rescaled Toeplitz matrices.
  int64_t terms = 0;
};

/// Theorem D.3: A V and A 1 term by term (Lemmas D.1 and D.2), then the division. Takes
/// O(terms dv T log T) operations. A product with a matrix has an error of about 1e-15 times the
/// largest sums of its table and its vector, so a row sum that cancels is lost in rounding.
///
/// Fails where shapes do not fit each other, a number is not finite, a place is outside of W or
/// occurs twice, there are too many terms, or a row sum is 0 or not finite.
llvm::Expected<ExpansionResult> evaluateByToeplitzTerms(const GeneralRoPEAttention &attention);

} // namespace polyattn

#endif // POLYATTN_REFERENCE_TOEPLITZEXPANSION_H

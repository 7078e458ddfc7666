//===- ScorePolynomial.h - polynomials of one score -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales, powers, products and concatenations turn a score s into a polynomial of
// s: BASED's features have the score 1 + s + s^2 / 2. Whether it can be negative is
// a question about that polynomial. Coefficients are dyadic rationals, as every
// floating-point number is, so that the answer is exact.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURES_SCOREPOLYNOMIAL_H
#define POLYATTN_FEATURES_SCOREPOLYNOMIAL_H

#include "llvm/ADT/DynamicAPInt.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace polyattn {

class ScorePolynomial {
public:
  /// Results beyond this degree are not computed.
  static constexpr int64_t kMaxDegree = 16;

  /// Empty where the value is not finite, or so large or small that exact arithmetic would be slow.
  static std::optional<ScorePolynomial> constant(double value);
  /// The score s itself.
  static ScorePolynomial variable();

  ScorePolynomial operator+(const ScorePolynomial &other) const;
  /// Empty where the degree would exceed kMaxDegree.
  std::optional<ScorePolynomial> times(const ScorePolynomial &other) const;
  std::optional<ScorePolynomial> power(int64_t exponent) const;

  /// The degree, -1 of the zero polynomial.
  int64_t degree() const { return int64_t(coefficients_.size()) - 1; }

  /// True where it is shown not to be negative for any real s. Exact up to degree 2; above, a
  /// polynomial that touches zero elsewhere than at s = 0 is not recognized.
  bool isNonNegative() const;

private:
  using Number = llvm::DynamicAPInt;
  using Numbers = llvm::SmallVector<Number, 4>;

  ScorePolynomial(Numbers coefficients, int64_t exponent);
  Numbers atExponent(int64_t exponent) const;
  static bool hasRealRoot(const Numbers &polynomial);

  // sum of coefficients_[i] 2^exponent_ s^i, without leading zeros
  Numbers coefficients_;
  int64_t exponent_ = 0;
};

} // namespace polyattn

#endif // POLYATTN_FEATURES_SCOREPOLYNOMIAL_H

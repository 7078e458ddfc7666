//===- ScorePolynomialTest.cpp - polynomials of one score -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/ScorePolynomial.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace polyattn;

namespace {

/// c0 + c1 s + c2 s^2 + ...
ScorePolynomial polynomial(std::initializer_list<double> coefficients) {
  ScorePolynomial sum = *ScorePolynomial::constant(0.0);
  int64_t exponent = 0;
  for (double c : coefficients)
    sum =
        sum + *ScorePolynomial::constant(c)->times(*ScorePolynomial::variable().power(exponent++));
  return sum;
}

TEST(ScorePolynomial, TaylorPolynomialsOfTheExponential) {
  EXPECT_TRUE(polynomial({1, 1, 0.5}).isNonNegative());
  EXPECT_FALSE(polynomial({1, 1, 0.5, 1.0 / 6}).isNonNegative());
  EXPECT_TRUE(polynomial({1, 1, 0.5, 1.0 / 6, 1.0 / 24}).isNonNegative());
  EXPECT_TRUE(polynomial({1, 1, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720}).isNonNegative());
}

TEST(ScorePolynomial, DegreeTwoIsExactAtTheBoundary) {
  EXPECT_TRUE(polynomial({1, 2, 1}).isNonNegative());
  EXPECT_TRUE(polynomial({0.25, -1, 1}).isNonNegative());
  EXPECT_FALSE(polynomial({1, std::nextafter(2.0, 3.0), 1}).isNonNegative());
  EXPECT_FALSE(polynomial({std::nextafter(1.0, 0.0), 2, 1}).isNonNegative());
}

TEST(ScorePolynomial, SignsAtTheEnds) {
  EXPECT_TRUE(polynomial({}).isNonNegative());
  EXPECT_TRUE(polynomial({3}).isNonNegative());
  EXPECT_FALSE(polynomial({-3}).isNonNegative());
  EXPECT_FALSE(polynomial({0, 1}).isNonNegative());
  EXPECT_TRUE(polynomial({0, 0, 1}).isNonNegative());
  EXPECT_FALSE(polynomial({0, 0, 0, 1}).isNonNegative());
  EXPECT_TRUE(polynomial({0, 0, 1, 1, 1}).isNonNegative());
  EXPECT_FALSE(polynomial({0, 1, 1}).isNonNegative());
}

TEST(ScorePolynomial, RealRootsInTheMiddle) {
  // (s^2 - 1)(s^2 + 1) and s^4 - 3 s^2 + 1 have roots; s^4 - s^2 + 1 has none.
  EXPECT_FALSE(polynomial({-1, 0, 0, 0, 1}).isNonNegative());
  EXPECT_FALSE(polynomial({1, 0, -3, 0, 1}).isNonNegative());
  EXPECT_TRUE(polynomial({1, 0, -1, 0, 1}).isNonNegative());
}

TEST(ScorePolynomial, RefusesWhatWouldBeSlow) {
  EXPECT_FALSE(ScorePolynomial::constant(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(ScorePolynomial::constant(1e300));
  EXPECT_FALSE(ScorePolynomial::variable().power(64));
  EXPECT_EQ(ScorePolynomial::variable().power(16)->degree(), 16);
}

} // namespace

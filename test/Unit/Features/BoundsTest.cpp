//===- BoundsTest.cpp - between which numbers values lie ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/Bounds.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace polyattn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bounds kUnknown;

TEST(Bounds, Sums) {
  EXPECT_EQ((Bounds{-1, 1} + Bounds::ofNumber(1)), (Bounds{0, 2}));
  EXPECT_EQ(kUnknown + Bounds::ofNumber(1), kUnknown);
  EXPECT_EQ(Bounds::nonNegative() + Bounds::ofNumber(-1), (Bounds{-1, kInfinity}));
}

/// 0.1 + 0.2 is 0.3 and the last digit of an f64, which is not what a caller means by a bound.
TEST(Bounds, WhatRoundingLeavesOfASumIsZero) {
  Bounds sum = Bounds{-0.1, 0.1} + Bounds{-0.2, 0.2} + Bounds::ofNumber(0.3);
  EXPECT_TRUE(sum.isNonNegative());
  EXPECT_FALSE((Bounds{-1, 1} + Bounds::ofNumber(1 - 1e-9)).isNonNegative());
}

TEST(Bounds, Products) {
  EXPECT_EQ((Bounds{-1, 2} * Bounds{-3, 5}), (Bounds{-6, 10}));
  EXPECT_EQ(Bounds::nonNegative() * Bounds::nonNegative(), Bounds::nonNegative());
  EXPECT_EQ(kUnknown * Bounds::nonNegative(), kUnknown);
  EXPECT_EQ(Bounds::nonNegative() * Bounds::ofNumber(-2), (Bounds{-kInfinity, 0}));
  EXPECT_EQ(sum({-1, 2}, 3), (Bounds{-3, 6}));
}

TEST(Bounds, Powers) {
  EXPECT_EQ(power({-3, 2}, 2), (Bounds{0, 9}));
  EXPECT_EQ(power({-3, 2}, 3), (Bounds{-27, 8}));
  EXPECT_EQ(power({-3, 2}, 0), (Bounds{1, 1}));
  EXPECT_EQ(power({-3, 2}, 0.5), kUnknown);
  EXPECT_EQ(power({-3, 2}, -1), kUnknown);
  EXPECT_EQ(power({4, 9}, 0.5), (Bounds{2, 3}));
  EXPECT_EQ(power(Bounds::nonNegative(), -1), Bounds::nonNegative());
  EXPECT_EQ(power(kUnknown, -2), Bounds::nonNegative());
  EXPECT_EQ(magnitude({-3, 2}), (Bounds{0, 3}));
  EXPECT_EQ(magnitude({-3, -2}), (Bounds{2, 3}));
}

TEST(Bounds, Functions) {
  auto exp = [](double x) { return std::exp(x); };
  EXPECT_EQ(ofIncreasing(kUnknown, exp), Bounds::nonNegative());
  EXPECT_EQ(ofIncreasing({-kInfinity, 0}, exp), (Bounds{0, 1}));
  EXPECT_EQ(ofRectifierWithDip(kUnknown, -0.3), (Bounds{-0.3, kInfinity}));
  EXPECT_EQ(ofRectifierWithDip({-2, 1}, -0.3), (Bounds{-0.3, 1}));
  EXPECT_EQ(ofRectifierWithDip({0, 1}, -0.3), (Bounds{0, 1}));
  EXPECT_EQ(ofUnitVector(kUnknown), (Bounds{-1, 1}));
  EXPECT_EQ(ofUnitVector({0, 7}), (Bounds{0, 1}));
  EXPECT_EQ(either({-1, 2}, {0, 3}), (Bounds{-1, 3}));
}

/// A bound is a number: what leaves the range of f64 must not end as infinity less infinity.
TEST(Bounds, WhatLeavesTheRangeStaysANumber) {
  Bounds huge = ofIncreasing(Bounds::ofNumber(1000), [](double x) { return std::exp(x); });
  EXPECT_TRUE(huge.isNonNegative());
  EXPECT_TRUE(std::isfinite(huge.lower));
  EXPECT_EQ((huge + kUnknown), kUnknown);
  EXPECT_FALSE((huge * Bounds::ofNumber(-1) + huge).isNonNegative());
}

/// The zero with a minus, whose power of -1 is negative.
TEST(Bounds, TheZeroWithAMinusIsNotCounted) {
  EXPECT_FALSE((Bounds::nonNegative() * Bounds::ofNumber(-0.0)).isNonNegative());
  EXPECT_TRUE(magnitude(Bounds::ofNumber(-0.0)).isNonNegative());
}

/// 1 + cos(a) may be a little below zero in f32: folds know its sign no more.
TEST(Bounds, OfSigns) {
  EXPECT_EQ((Bounds{-1, 1}.ofSigns() + Bounds::ofNumber(1)).ofSigns(), kUnknown);
  EXPECT_EQ((Bounds{0.5, 1}.ofSigns()), Bounds::nonNegative());
  EXPECT_EQ((Bounds{-2, -1}.ofSigns()), (Bounds{-kInfinity, 0}));
}

} // namespace

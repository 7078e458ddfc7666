//===- Bounds.h - between which numbers values lie --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURES_BOUNDS_H
#define POLYATTN_FEATURES_BOUNDS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <limits>

namespace polyattn {

/// The smallest and the largest value that the elements of a vector can have, infinite where none
/// is known. What becomes NaN lies within any bounds.
struct Bounds {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  static Bounds nonNegative() { return {0, std::numeric_limits<double>::infinity()}; }
  static Bounds ofNumber(double number) { return {number, number}; }

  /// No value is negative, nor is it the zero with a minus, which a division would show.
  bool isNonNegative() const;
  /// What the signs alone tell, without how large values are. It holds for rounded values, too:
  /// 1 + cos(a) in f32 may be a little below zero.
  Bounds ofSigns() const;

  bool operator==(const Bounds &other) const {
    return lower == other.lower && upper == other.upper;
  }
};

/// Bounds of sums and products, of any values within those of the operands. What a sum of numbers
/// that cancel leaves is zero where it is no more than their rounding: 0.1 + 0.2 - 0.3.
Bounds operator+(Bounds a, Bounds b);
Bounds operator*(Bounds a, Bounds b);
/// Of |a|, and of a^exponent: `a` to an even power is not negative.
Bounds magnitude(Bounds a);
Bounds power(Bounds a, double exponent);
/// Of the sum of `count` values.
Bounds sum(Bounds a, int64_t count);
/// Of what is one value or the other.
Bounds either(Bounds a, Bounds b);
/// Of a function that never falls where its argument grows.
Bounds ofIncreasing(Bounds a, llvm::function_ref<double(double)> function);
/// Of a function between 0 and max(a, 0), but for a dip below zero where `a` is negative (silu).
Bounds ofRectifierWithDip(Bounds a, double lowest);
/// Of vectors with a length of at most 1, with the signs of `a`.
Bounds ofUnitVector(Bounds a);

} // namespace polyattn

#endif // POLYATTN_FEATURES_BOUNDS_H

//===- Factors.h - arithmetic of the factors that folds gather --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Folds gather the factors of `scale` ops into one. The factors are written by users and may be
// any number, so that their product may be none.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_FACTORS_H
#define POLYATTN_DIALECTS_FACTORS_H

#include <cmath>
#include <limits>

namespace polyattn {

/// `result`, or NaN where it is zero though its factors are not: what underflowed is lost.
inline double unlessLost(double result, bool isZero) {
  return result == 0 && !isZero ? std::numeric_limits<double>::quiet_NaN() : result;
}

inline double multiplyFactors(double a, double b) { return unlessLost(a * b, a == 0 || b == 0); }

inline double raiseFactor(double factor, double exponent) {
  return unlessLost(std::pow(factor, exponent), factor == 0);
}

/// Whether a fold may write this factor: kernels multiply in f32, where a factor beyond its range
/// is infinite or zero, although the factors that it was gathered from may be ordinary numbers.
inline bool isRepresentable(double factor) {
  double magnitude = std::fabs(factor);
  return factor == 0 || (magnitude >= std::numeric_limits<float>::min() &&
                         magnitude <= std::numeric_limits<float>::max());
}

} // namespace polyattn

#endif // POLYATTN_DIALECTS_FACTORS_H

//===- Bounds.cpp - between which numbers values lie ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/Bounds.h"
#include <algorithm>
#include <cmath>
#include <iterator>

using namespace polyattn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Bounds::isNonNegative() const { return lower >= 0 && !std::signbit(lower); }

Bounds Bounds::ofSigns() const {
  return {isNonNegative() ? 0.0 : -kInfinity, upper <= 0 ? 0.0 : kInfinity};
}

/// Bounds that arithmetic gave: a number that left the range of f64 is still a number.
static Bounds within(double lower, double upper) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  return {std::isnan(lower) ? -kInfinity : std::fmin(lower, kLargest),
          std::isnan(upper) ? kInfinity : std::fmax(upper, -kLargest)};
}

/// Sums of a few numbers in f64 are off by less than this part of the numbers.
static double addBounds(double a, double b) {
  constexpr double kRounding = 1e-13;
  double sum = a + b;
  return std::isfinite(sum) && sum != 0 && std::fabs(sum) <= kRounding * std::fabs(a) ? 0.0 : sum;
}

Bounds polyattn::operator+(Bounds a, Bounds b) {
  return within(addBounds(a.lower, b.lower), addBounds(a.upper, b.upper));
}

/// An infinite bound stands for any number, and 0 times a number is 0.
static double multiplyBounds(double a, double b) {
  double product = a * b;
  if (!std::isnan(product))
    return product;
  return std::signbit(a) != std::signbit(b) ? -0.0 : 0.0;
}

Bounds polyattn::operator*(Bounds a, Bounds b) {
  double products[] = {multiplyBounds(a.lower, b.lower), multiplyBounds(a.lower, b.upper),
                       multiplyBounds(a.upper, b.lower), multiplyBounds(a.upper, b.upper)};
  // Which of two zeros is the smaller one the sign says.
  auto isLess = [](double x, double y) {
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  };
  auto [lower, upper] = std::minmax_element(std::begin(products), std::end(products), isLess);
  return within(*lower, *upper);
}

Bounds polyattn::magnitude(Bounds a) {
  double largest = std::fmax(std::fabs(a.lower), std::fabs(a.upper));
  bool holdsZero = a.lower <= 0 && a.upper >= 0;
  return {holdsZero ? 0.0 : std::fmin(std::fabs(a.lower), std::fabs(a.upper)), largest};
}

Bounds polyattn::power(Bounds a, double exponent) {
  bool isWhole = exponent == std::floor(exponent);
  if (isWhole && std::fmod(exponent, 2.0) == 0)
    a = magnitude(a);
  bool isOdd = isWhole && std::fabs(std::fmod(exponent, 2.0)) == 1;
  // A negative power jumps at 0, from one infinity to the other.
  if (!a.isNonNegative() && !(isOdd && exponent > 0))
    return {};
  double ends[] = {std::pow(a.lower, exponent), std::pow(a.upper, exponent)};
  return exponent >= 0 ? within(ends[0], ends[1]) : within(ends[1], ends[0]);
}

Bounds polyattn::sum(Bounds a, int64_t count) { return a * Bounds::ofNumber(double(count)); }

Bounds polyattn::either(Bounds a, Bounds b) {
  return {std::fmin(a.lower, b.lower), std::fmax(a.upper, b.upper)};
}

Bounds polyattn::ofIncreasing(Bounds a, llvm::function_ref<double(double)> function) {
  return within(function(a.lower), function(a.upper));
}

Bounds polyattn::ofRectifierWithDip(Bounds a, double lowest) {
  return {a.isNonNegative() ? 0.0 : lowest, std::fmax(a.upper, 0)};
}

Bounds polyattn::ofUnitVector(Bounds a) {
  return {a.isNonNegative() ? 0.0 : -1.0, a.upper <= 0 ? 0.0 : 1.0};
}

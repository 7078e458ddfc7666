//===- ExpPolynomial.cpp - a polynomial for exp ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/ExpPolynomial.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace polyattn;

/// The modified Bessel function I_k(x), from its power series.
static double besselI(size_t k, double x) {
  double term = 1;
  for (size_t j = 1; j <= k; ++j)
    term *= x / 2 / double(j);
  double sum = 0;
  for (size_t j = 1; term > sum * 1e-17; ++j) {
    sum += term;
    term *= (x / 2) * (x / 2) / (double(j) * double(j + k));
  }
  return sum;
}

/// The coefficients of exp(bound t) = I_0(bound) + 2 I_1(bound) T_1(t) + ..., up to one that f64
/// cannot distinguish from 0 beside the first.
static std::vector<double> chebyshevSeries(double bound) {
  std::vector<double> series{besselI(0, bound)};
  while (series.back() > series.front() * 1e-20)
    series.push_back(2 * besselI(series.size(), bound));
  return series;
}

/// The coefficients in powers of x of a series in T_k(x / bound), by T_k+1(t) = 2t T_k(t) -
/// T_k-1(t).
static std::vector<double> inPowers(ArrayRef<double> series, double bound) {
  std::vector<double> result(series.size());
  std::vector<double> previous(series.size()), chebyshev(series.size());
  chebyshev[0] = 1;
  for (auto [k, coefficient] : enumerate(series)) {
    for (size_t power = 0; power <= k; ++power)
      result[power] += coefficient * chebyshev[power];
    std::vector<double> next(series.size());
    for (size_t power = 0; power < next.size(); ++power)
      next[power] = (k == 0 ? 1 : 2) * (power > 0 ? chebyshev[power - 1] : 0) - previous[power];
    previous = std::move(chebyshev);
    chebyshev = std::move(next);
  }
  double unit = 1;
  for (double &coefficient : result) {
    coefficient *= unit;
    unit /= bound;
  }
  return result;
}

Expected<std::vector<double>> polyattn::expPolynomial(double error, double bound) {
  if (!(error > 0 && error < 0.1))
    return createStringError(
        formatv("error: expected a number above 0 and below 0.1, got {0:e}", error));
  if (!(bound > 0 && std::isfinite(bound)))
    return createStringError(formatv("bound: expected a finite number above 0, got {0:e}", bound));
  double rounding = 1e-13 * std::exp(bound);
  if (error < rounding)
    return createStringError(
        formatv("error: expected at least 1e-13 exp(bound) = {0:e}, got {1:e}", rounding, error));
  std::vector<double> series = chebyshevSeries(bound);
  // |T_k| is at most 1, so the coefficients left out bound the error.
  double leftOut = 0;
  while (leftOut + series.back() < error) {
    leftOut += series.back();
    series.pop_back();
  }
  return inPowers(series, bound);
}

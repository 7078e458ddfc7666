//===- Normalizer.cpp - denominators of attentions in f64 -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Tape.h"

using namespace polyattn;
using namespace polyattn::reference;

/// The denominator of one row (NormalizerAttr) before its floor, from the sum and the largest of
/// its scores. What is added to the sum may leave nothing of it, or cancel: each step is rounded.
template <typename Number>
static Number totalOf(NormalizerAttr normalizer, const Number &sum, const Number &largest,
                      const RoundingOf<Number> &rounding = {}) {
  using std::fabs;
  Number total = sum;
  auto add = [&](const Number &term) {
    total += term;
    if (rounding && !(fabs(term) <= 0))
      total = rounding(total);
  };
  Number eps = normalizer.getEps().convertToDouble();
  if (normalizer.needsRowMax())
    eps *= largest;
  add(normalizer.getBias().convertToDouble());
  add(eps);
  if (fabs(sum) <= normalizer.getGuardBelow().convertToDouble())
    add(normalizer.getGuardAdd().convertToDouble());
  return total;
}

template <typename Number>
static Number denominatorOf(NormalizerAttr normalizer, const Number &sum, const Number &largest,
                            const RoundingOf<Number> &rounding) {
  using std::fabs;
  Number total = totalOf<Number>(normalizer, sum, largest, rounding);
  double floor = normalizer.getMinDenom().convertToDouble();
  if (fabs(total) < floor)
    total = total < 0 ? -floor : floor;
  return total;
}

template <typename Number>
Number reference::normalizingFactor(NormalizerAttr normalizer, const Number &sum,
                                    const Number &largest, int64_t keys,
                                    const RoundingOf<Number> &rounding) {
  if (keys == 0)
    return 0;
  double unit = normalizer.isMean() ? 1.0 / double(keys) : 1;
  if (!normalizer.hasDenominator())
    return unit;
  return unit / denominatorOf<Number>(normalizer, sum * unit, largest * unit, rounding);
}

double reference::denominatorSlope(NormalizerAttr normalizer, double sum, double largest,
                                   int64_t keys) {
  if (!normalizer.hasDenominator())
    return 0;
  double unit = normalizer.isMean() && keys ? 1.0 / double(keys) : 1;
  double total = totalOf<double>(normalizer, sum * unit, largest * unit);
  return std::fabs(total) < normalizer.getMinDenom().convertToDouble() ? 0 : 1;
}

template double reference::normalizingFactor(NormalizerAttr, const double &, const double &,
                                             int64_t, const RoundingOf<double> &);
template Variable reference::normalizingFactor(NormalizerAttr, const Variable &, const Variable &,
                                               int64_t, const RoundingOf<Variable> &);

//===- Normalizer.cpp - denominators of attentions in f64 -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

using namespace polyattn;
using namespace polyattn::reference;

/// The denominator of one row (NormalizerAttr), from the sum and the largest of its scores.
static double denominatorOf(NormalizerAttr normalizer, double sum, double largest) {
  double eps = normalizer.getEps().convertToDouble();
  if (normalizer.needsRowMax())
    eps *= largest;
  double total = sum + normalizer.getBias().convertToDouble() + eps;
  if (std::fabs(sum) <= normalizer.getGuardBelow().convertToDouble())
    total += normalizer.getGuardAdd().convertToDouble();
  double floor = normalizer.getMinDenom().convertToDouble();
  if (std::fabs(total) < floor)
    total = std::signbit(total) && total != 0 ? -floor : floor;
  return total;
}

void reference::normalize(Row &row, NormalizerAttr normalizer, int64_t before) {
  double unit = 1;
  if (normalizer.isMean())
    unit = before + row.count ? 1.0 / double(before + row.count) : 0;
  double factor = unit;
  if (normalizer.hasDenominator())
    factor /= denominatorOf(normalizer, row.denominator * unit, row.largest * unit);
  for (double &x : row.numerator)
    x *= factor;
}

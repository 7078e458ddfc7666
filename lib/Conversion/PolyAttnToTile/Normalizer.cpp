//===- Normalizer.cpp - denominators of attentions ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Normalizer.h"

using namespace mlir;
using namespace polyattn;

Value polyattn::denominatorOf(ElementBuilder &e, NormalizerAttr normalizer, RowScores row) {
  auto scaledByUnit = [&](Value x) { return row.unit ? e.mul(x, row.unit) : x; };
  Value sum = scaledByUnit(row.sum), total = sum;
  double bias = normalizer.getBias().convertToDouble(), eps = normalizer.getEps().convertToDouble();
  if (row.largest) {
    Value factor = e.constant(eps);
    total = e.add(total, e.mul(factor, scaledByUnit(row.largest)));
  } else {
    bias += eps;
  }
  if (bias != 0)
    total = e.add(total, e.constant(bias));
  if (!normalizer.getGuardAdd().isZero()) {
    Value magnitude = math::AbsFOp::create(e, sum);
    Value small = arith::CmpFOp::create(e, arith::CmpFPredicate::OLE, magnitude,
                                        e.constant(normalizer.getGuardBelow().convertToDouble()));
    Value guarded = e.add(total, e.constant(normalizer.getGuardAdd().convertToDouble()));
    total = e.select(small, guarded, total);
  }
  if (!normalizer.getMinDenom().isZero()) {
    double floor = normalizer.getMinDenom().convertToDouble();
    Value magnitude = math::AbsFOp::create(e, total);
    Value small = e.less(magnitude, e.constant(floor));
    Value isNegative = e.less(total, e.constant(0)), negative = e.constant(-floor);
    total = e.select(small, e.select(isNegative, negative, e.constant(floor)), total);
  }
  return total;
}

//===- Logarithm.cpp - logarithms and powers as arithmetic ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include <limits>

using namespace mlir;
using namespace polyattn;

static const double kLn2 = 0.69314718055994530942;
static const double kLog2E = 1.44269504088896340736;
static const double kLog2ERest = 1.925963033500011e-08;
static const double kInfinity = std::numeric_limits<double>::infinity();
static const double kNaN = std::numeric_limits<double>::quiet_NaN();

namespace {
/// A positive number as 2^exponent (1 + fraction), and ln(1 + fraction) = fraction + rest.
struct Parts {
  Value exponent, fraction, rest;
};
} // namespace

/// The fraction is between -1/3 and 1/3, so that near 1 the exponent is 0 and nothing cancels.
/// The polynomial is off by 2.9e-8 of a third power: error 1e-9.
static Parts split(Formula &f, Value x) {
  // Numbers too small for the format's exponent are made larger first.
  Value tiny = f.less(x, f.constant(1.17549435e-38));
  x = f.select(tiny, f.mul(x, f.constant(8388608)), x);
  Value bias = f.select(tiny, f.constant(-23), f.constant(0));
  Value bits = f.bits(x);
  Value above = f.make<arith::SubIOp>(bits, f.integer(0x3f2aaaab)); // 2/3
  Value exponent = f.make<arith::ShRSIOp>(above, f.integer(23));
  Value shifted = f.make<arith::ShLIOp>(exponent, f.integer(23));
  Value fraction = f.sub(f.fromBits(f.make<arith::SubIOp>(bits, shifted)), f.constant(1));
  Value tail = f.polynomial(fraction,
                            {0.3333333333, -0.2499994419, 0.1999994835, -0.1667331625, 0.1429186718,
                             -0.1228872161, 0.1091565479, -0.1242220058, 0.1133061739});
  Value rest = f.mul(f.mul(fraction, fraction), f.multiplyAdd(fraction, tail, f.constant(-0.5)));
  return {f.add(f.toFloat(exponent), bias), fraction, rest};
}

/// `result` where x is positive and finite, otherwise what a logarithm is there.
static Value whereDefined(Formula &f, Value x, Value result) {
  Value zero = f.constant(0);
  Value finite = f.select(f.less(x, f.constant(kInfinity)), result, x);
  Value edge = f.select(f.equal(x, zero), f.constant(-kInfinity), f.constant(kNaN));
  return f.select(f.less(zero, x), finite, edge);
}

static Value logOf(Formula &f, Value x) {
  Parts parts = split(f, x);
  Value result = f.fma(parts.exponent, f.constant(kLn2), f.add(parts.fraction, parts.rest));
  return whereDefined(f, x, result);
}

static Value expand(Formula &f, math::LogOp op) { return logOf(f, op.getOperand()); }

static Value expand(Formula &f, math::Log2Op op) {
  Value x = op.getOperand();
  Parts parts = split(f, x);
  Value sum = f.add(parts.fraction, parts.rest);
  return whereDefined(f, x, f.fma(sum, f.constant(kLog2E), parts.exponent));
}

/// log(u) with u = 1 + x, and what rounding took from u as its first-order term.
static Value expand(Formula &f, math::Log1pOp op) {
  Value x = op.getOperand(), one = f.constant(1);
  Value u = f.add(one, x);
  Value lost = f.roughDiv(f.sub(x, f.sub(u, one)), u);
  Value inside = f.make<arith::AndIOp>(f.less(f.constant(0), u), f.less(u, f.constant(1e30)));
  return f.add(logOf(f, u), f.select(inside, lost, f.constant(0)));
}

/// |x|^y = 2^(y log2 |x|), the logarithm and the product as sums of two f32, without which the
/// error would grow with the size of the power.
static Value magnitudeOfPower(Formula &f, Value x, Value y) {
  Parts parts = split(f, x);
  Value high = f.mul(parts.fraction, f.constant(kLog2E));
  Value minusHigh = f.make<arith::NegFOp>(high);
  Value low = f.fma(parts.fraction, f.constant(kLog2E), minusHigh);
  low = f.fma(parts.fraction, f.constant(kLog2ERest), low);
  low = f.fma(parts.rest, f.constant(kLog2E), low);
  Value coarse = f.add(parts.exponent, high);
  low = f.add(low, f.sub(high, f.sub(coarse, parts.exponent)));
  Value sum = f.add(coarse, low);
  low = f.sub(low, f.sub(sum, coarse));
  sum = whereDefined(f, x, sum);

  Value power = f.mul(y, sum);
  Value rest = f.fma(y, low, f.fma(y, sum, f.make<arith::NegFOp>(power)));
  // Elsewhere the result is 0 or infinite, and the rest may be neither.
  Value inside = f.less(f.abs(power), f.constant(192));
  rest = f.select(inside, rest, f.constant(0));
  return f.mul(f.exp2(power), f.multiplyAdd(rest, f.constant(kLn2), f.constant(1)));
}

/// As C's pow: a negative base has a power where the exponent is whole, and then its sign where
/// that is odd; anything to the 0 and 1 to anything is 1.
static Value expand(Formula &f, math::PowFOp op) {
  Value x = op.getLhs(), y = op.getRhs(), zero = f.constant(0), one = f.constant(1);
  Value result = magnitudeOfPower(f, f.abs(x), y);
  Value whole = f.equal(f.make<math::FloorOp>(y), y);
  Value half = f.mul(y, f.constant(0.5));
  Value even = f.equal(f.make<math::FloorOp>(half), half);
  // The sign bit, so that -0 counts.
  Value signOfOdd = f.select(even, one, x);
  Value negative = f.select(whole, f.withSign(result, signOfOdd), f.constant(kNaN));
  Value negativeResult = f.select(f.less(x, zero), negative, result);
  Value atZero = f.select(whole, f.withSign(result, signOfOdd), result);
  result = f.select(f.equal(x, zero), atZero, negativeResult);
  result = f.select(f.equal(x, one), one, result);
  return f.select(f.equal(y, zero), one, result);
}

void polyattn::populateLogarithmFormulas(RewritePatternSet &patterns, Exp2 powers) {
  addFormula<math::LogOp>(patterns, powers, expand);
  addFormula<math::Log2Op>(patterns, powers, expand);
  addFormula<math::Log1pOp>(patterns, powers, expand);
  addFormula<math::PowFOp>(patterns, powers, expand);
}

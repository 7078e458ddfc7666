//===- Exponential.cpp - exp and its relatives as arithmetic --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The polynomials interpolate at Chebyshev nodes; their errors are relative unless said otherwise.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;
using namespace polyattn;

static const double kLog2E = 1.44269504088896340736;
/// What f32 leaves of it.
static const double kLog2ERest = 1.925963033500011e-08;
static const double kLn2 = 0.69314718055994530942;

/// e^x = 2^(x log2 e). The rounding error of that product, up to 2^-18, is what the second factor
/// makes good, and with it e^tail where x + tail has more digits than a number. The limits keep the
/// error finite where the result is 0 or infinite already.
static Value expOf(Formula &f, Value x, Value tail = {}) {
  x = f.clamp(x, -128, 128);
  Value power = f.mul(x, f.constant(kLog2E));
  Value minus = f.make<arith::NegFOp>(power);
  Value rest = f.fma(x, f.constant(kLog2ERest), f.fma(x, f.constant(kLog2E), minus));
  if (tail)
    rest = f.multiplyAdd(tail, f.constant(kLog2E), rest);
  return f.mul(f.exp2(power), f.fma(rest, f.constant(kLn2), f.constant(1)));
}

static Value expand(Formula &f, math::ExpOp op) {
  // Whoever asks for an approximate function gets the shortest: the error grows with |x| to 1e-5.
  if (bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
    return f.exp2(f.mul(op.getOperand(), f.constant(kLog2E)));
  return expOf(f, op.getOperand());
}

/// A polynomial near 0, where 1 cancels (error 1.3e-8).
static Value expand(Formula &f, math::ExpM1Op op) {
  Value x = op.getOperand();
  Value tail = f.polynomial(x, {0.5000000122, 0.166666668, 0.04166579123, 0.008333236134,
                                0.001398218605, 0.0001994487444});
  Value near = f.fma(f.mul(x, x), tail, x);
  Value far = f.sub(expOf(f, x), f.constant(1));
  return f.select(f.less(f.abs(x), f.constant(0.5)), near, far);
}

/// An odd polynomial near 0 (error 3e-9), 1 - 2 / (e^2|x| + 1) with the sign of x elsewhere.
static Value expand(Formula &f, math::TanhOp op) {
  Value x = op.getOperand(), magnitude = f.abs(x), square = f.mul(x, x);
  Value tail = f.polynomial(square, {-0.3333333323, 0.1333331287, -0.05396155179, 0.02178832204,
                                     -0.008410070898, 0.002370765727});
  Value near = f.fma(f.mul(x, square), tail, x);
  Value power = f.exp2(f.mul(magnitude, f.constant(2 * kLog2E)));
  Value quotient = f.roughDiv(f.constant(2), f.add(power, f.constant(1)));
  Value far = f.withSign(f.sub(f.constant(1), quotient), x);
  return f.select(f.less(magnitude, f.constant(0.6)), near, far);
}

/// An odd polynomial up to 1 (error 1.2e-9); from there to 4, where f32 knows nothing but 1,
/// 1 - 2^-p(|x|), in which p is off by at most 4.9e-7.
static Value expand(Formula &f, math::ErfOp op) {
  Value x = op.getOperand(), magnitude = f.abs(x);
  Value near =
      f.mul(x, f.polynomial(f.mul(x, x), {1.128379166, -0.3761262667, 0.1128359472, -0.02685421203,
                                          0.005189087455, -0.0008016864506, 7.875875675e-5}));
  Value power = f.polynomial(f.clamp(magnitude, 0, 4),
                             {0.001104956929, 1.624321189, 0.9220859228, 0.1490031562,
                              -0.03261179281, 0.004951836316, -0.0004572434706, 1.914797057e-5});
  Value tail = f.exp2(f.make<arith::NegFOp>(power));
  Value far = f.withSign(f.sub(f.constant(1), tail), x);
  return f.select(f.less(magnitude, f.constant(1)), near, far);
}

/// e^(-x^2) f(x) with the square as the sum of two numbers, since e makes its absolute error a
/// relative one; f(x) = t p(1 - 6 t) for t = 1 / (x + 3) (error 7e-9). Negative x are their own
/// distance from 2. Beyond 10.2 the result is below all numbers.
static Value expand(Formula &f, math::ErfcOp op) {
  Value x = op.getOperand(), magnitude = f.clamp(f.abs(x), 0, 10.5);
  Value minus = f.make<arith::NegFOp>(magnitude);
  Value square = f.mul(minus, magnitude);
  Value lost = f.fma(minus, magnitude, f.make<arith::NegFOp>(square));
  Value t = f.roughDiv(f.constant(1), f.add(magnitude, f.constant(3)));
  Value factor = f.polynomial(f.multiplyAdd(t, f.constant(-6), f.constant(1)),
                              {1.074006906, -0.8833944637, 0.5902284472, -0.310466518, 0.1195270777,
                               -0.02683742574, -0.001217209322, 0.003079632144, -0.0004971422418,
                               -0.0003331503567});
  Value tail = f.mul(expOf(f, square, lost), f.mul(t, factor));
  return f.select(f.less(x, f.constant(0)), f.sub(f.constant(2), tail), tail);
}

void polyattn::populateExponentialFormulas(RewritePatternSet &patterns) {
  addFormula<math::ExpOp>(patterns, expand);
  addFormula<math::ExpM1Op>(patterns, expand);
  addFormula<math::TanhOp>(patterns, expand);
  addFormula<math::ErfOp>(patterns, expand);
  populateErfcFormula(patterns);
}

void polyattn::populateErfcFormula(RewritePatternSet &patterns) {
  addFormula<math::ErfcOp>(patterns, expand);
}

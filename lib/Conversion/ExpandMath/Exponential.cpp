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
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace polyattn;

static const double kLog2E = 1.44269504088896340736;
/// What f32 leaves of it.
static const double kLog2ERest = 1.925963033500011e-08;
static const double kLn2 = 0.69314718055994530942;

/// e^x = 2^(x log2 e). The rounding error of that product, up to 2^-18, is what the second factor
/// makes good, and with it e^tail. The limits keep the error finite where the result is 0 or
/// infinite already.
static Value expByInstruction(Formula &f, Value x, Value tail) {
  x = f.clamp(x, -128, 128);
  Value power = f.mul(x, f.constant(kLog2E));
  Value minus = f.make<arith::NegFOp>(power);
  Value rest = f.fma(x, f.constant(kLog2ERest), f.fma(x, f.constant(kLog2E), minus));
  if (tail)
    rest = f.multiplyAdd(tail, f.constant(kLog2E), rest);
  return f.mul(f.exp2(power), f.fma(rest, f.constant(kLn2), f.constant(1)));
}

/// Adding 1.5 * 2^23 + 126 to x rounds it to n and leaves n + 126 in the low bits, the exponent of
/// 2^(n - 1).
static constexpr double kMagic = 12582912 + 126;

/// e^r 2^n where |r| <= ln 2 / 2 and `rounded` is n + kMagic. The polynomial is that of 2 e^r, so
/// that n = 128 does not overflow (error 2.6e-9).
static Value scaledExponential(Formula &f, Value r, Value rounded) {
  Value sum = f.polynomial(r, {2.0, 2.000000075659228, 1.0000000094518822, 0.3333283002258021,
                               0.08333270453608277, 0.016750336577928817, 0.0027882321512876698});
  return f.mul(sum, f.fromBits(f.shiftLeft(f.bits(rounded), 23)));
}

/// Whether x is a minimum with a constant that is at most `limit`.
static bool isAtMost(Value x, double limit) {
  auto minimum = x.getDefiningOp<arith::MinimumFOp>();
  if (!minimum)
    return false;
  auto isSmall = [&](Value operand) {
    Attribute constant;
    if (!matchPattern(operand, m_Constant(&constant)))
      return false;
    if (auto splat = dyn_cast<SplatElementsAttr>(constant))
      constant = splat.getSplatValue<Attribute>();
    auto number = dyn_cast<FloatAttr>(constant);
    return number && number.getValueAsDouble() <= limit;
  };
  return isSmall(minimum.getLhs()) || isSmall(minimum.getRhs());
}

/// e^x = 2^n e^r, n whole and |r| <= ln 2 / 2. Where n is -126 the exponent's bits are 0, and so is
/// the result: it takes the place of all that is smaller. Errors stay below one unit in the last
/// place.
static Value expByArithmetic(Formula &f, Value x, Value tail) {
  // Of these n is -126 and 128. Two numbers that x is compared with first are instructions that
  // replace a comparison and a choice of the result each, and x is needed no longer.
  constexpr double least = -87.5, largest = 89;
  bool isLimited = isAtMost(x, largest);
  x = f.atLeast(x, least);
  if (!isLimited)
    x = f.atMost(x, largest);
  Value magic = f.constant(kMagic);
  Value rounded = f.multiplyAdd(x, f.constant(kLog2E), magic);
  Value n = f.sub(rounded, magic);
  // ln 2 in two parts, the first of which has few bits: its product with n is exact.
  Value r = f.multiplyAdd(n, f.constant(-0.693359375), x);
  r = f.multiplyAdd(n, f.constant(2.12194440054690583e-4), r);
  if (tail)
    r = f.add(r, tail);
  return scaledExponential(f, r, rounded);
}

Value Formula::exp(Value x, Value tail) {
  return powers == Exp2::Instruction ? expByInstruction(*this, x, tail)
                                     : expByArithmetic(*this, x, tail);
}

/// As e^x; n and what is left of x are exact.
static Value exp2ByArithmetic(Formula &f, Value x) {
  x = f.clamp(x, -126, 128.5);
  Value magic = f.constant(kMagic), rounded = f.add(x, magic);
  Value r = f.mul(f.sub(x, f.sub(rounded, magic)), f.constant(kLn2));
  return scaledExponential(f, r, rounded);
}

Value Formula::exp2(Value x) {
  return powers == Exp2::Instruction ? make<math::Exp2Op>(x) : exp2ByArithmetic(*this, x);
}

static Value expand(Formula &f, math::ExpOp op) {
  // Whoever asks for an approximate function gets the shortest: the error grows with |x| to 1e-5.
  bool isRough = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
  if (isRough && f.powers == Exp2::Instruction)
    return f.exp2(f.mul(op.getOperand(), f.constant(kLog2E)));
  return f.exp(op.getOperand());
}

static Value expand(Formula &f, math::Exp2Op op) { return f.exp2(op.getOperand()); }

/// A polynomial near 0, where 1 cancels (error 1.3e-8).
static Value expand(Formula &f, math::ExpM1Op op) {
  Value x = op.getOperand();
  Value tail = f.polynomial(x, {0.5000000122, 0.166666668, 0.04166579123, 0.008333236134,
                                0.001398218605, 0.0001994487444});
  Value near = f.fma(f.mul(x, x), tail, x);
  Value far = f.sub(f.exp(x), f.constant(1));
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
  Value tail = f.mul(f.exp(square, lost), f.mul(t, factor));
  return f.select(f.less(x, f.constant(0)), f.sub(f.constant(2), tail), tail);
}

void polyattn::populateExponentialFormulas(RewritePatternSet &patterns, Exp2 powers) {
  addFormula<math::ExpOp>(patterns, powers, expand);
  if (powers == Exp2::Arithmetic)
    addFormula<math::Exp2Op>(patterns, powers, expand);
  addFormula<math::ExpM1Op>(patterns, powers, expand);
  addFormula<math::TanhOp>(patterns, powers, expand);
  addFormula<math::ErfOp>(patterns, powers, expand);
  addFormula<math::ErfcOp>(patterns, powers, expand);
}

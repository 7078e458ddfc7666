//===- Trigonometric.cpp - sine and cosine as arithmetic ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;
using namespace polyattn;

/// x = r + n pi / 2 with whole n and |r| < 0.85: sine and cosine of r are polynomials, and n modulo
/// 4 says which of them, with which sign. `quarters` is added to n.
///
/// Up to |x| = 1.5e6 nothing is lost. n is what 1.5 * 2^23 leaves in the low bits of a sum; the
/// product before it has an error that makes |r| larger than pi / 4, at that size as said. pi / 2
/// is the sum of three f32, and x - n c[0] is exact as both are multiples of 2^-23; so r keeps its
/// digits, relative to itself, however near x is to a multiple of pi / 2. Beyond that digits go
/// one after the other; the result stays within 1.
static Value circle(Formula &f, Value x, int32_t quarters) {
  const double magic = 12582912;
  Value rounded = f.fma(x, f.constant(0.63661977236758134), f.constant(magic));
  Value n = f.sub(rounded, f.constant(magic));
  Value r = f.fma(n, f.constant(-1.5707963705062866), x);
  r = f.fma(n, f.constant(4.371138828673793e-08), r);
  r = f.fma(n, f.constant(1.7151245100058819e-15), r);
  r = f.clamp(r, -1, 1);

  Value square = f.mul(r, r);
  // Errors below 1e-9 for |r| < 0.85.
  Value sine =
      f.polynomial(square, {-0.1666666666, 0.00833333102, -0.0001983966036, 2.719887705e-6});
  sine = f.multiplyAdd(f.mul(r, square), sine, r);
  Value cosine =
      f.polynomial(square, {-0.5, 0.04166666666, -0.001388888756, 2.480032226e-5, -2.726298681e-7});
  cosine = f.multiplyAdd(square, cosine, f.constant(1));

  Value quadrant = f.bits(rounded);
  if (quarters)
    quadrant = f.make<arith::AddIOp>(quadrant, f.integer(quarters));
  Value odd = f.make<arith::AndIOp>(quadrant, f.integer(1));
  Value even = f.isZero(odd);
  Value half = f.make<arith::AndIOp>(quadrant, f.integer(2));
  Value sign = f.make<arith::ShLIOp>(half, f.integer(30));
  Value magnitude = f.bits(f.select(even, sine, cosine));
  return f.fromBits(f.make<arith::XOrIOp>(magnitude, sign));
}

static Value expand(Formula &f, math::SinOp op) { return circle(f, op.getOperand(), 0); }
static Value expand(Formula &f, math::CosOp op) { return circle(f, op.getOperand(), 1); }

void polyattn::populateCircleFormulas(RewritePatternSet &patterns, Exp2 powers) {
  addFormula<math::SinOp>(patterns, powers, expand);
  addFormula<math::CosOp>(patterns, powers, expand);
}

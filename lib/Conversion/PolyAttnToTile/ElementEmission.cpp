//===- ElementEmission.cpp - elements of feature ops ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One overload of `emit` per element-wise op.
//
//===----------------------------------------------------------------------===//

#include "ElementEmission.h"
#include "dialects/PolyAttn/OpDispatch.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Value emit(ElementBuilder &e, ReluOp, ValueRange in) {
  Value zero = e.constant(0);
  return e.select(e.less(in[0], zero), zero, in[0]);
}

static Value emit(ElementBuilder &e, AbsOp, ValueRange in) {
  return math::AbsFOp::create(e, in[0]);
}

/// exp(min(x, 0)) + max(x, 0), an instruction for each of these where the sign of a zero, which
/// makes no difference here, may be either one.
static Value emit(ElementBuilder &e, EluPlusOneOp, ValueRange in) {
  Value x = in[0], zero = e.constant(0);
  auto anyZero = arith::FastMathFlags::nsz;
  Value exponential = math::ExpOp::create(e, arith::MinimumFOp::create(e, x, zero, anyZero));
  return e.add(exponential, arith::MaximumFOp::create(e, x, zero, anyZero));
}

static Value emit(ElementBuilder &e, ExpOp, ValueRange in) { return math::ExpOp::create(e, in[0]); }
static Value emit(ElementBuilder &e, TanhOp, ValueRange in) {
  return math::TanhOp::create(e, in[0]);
}
static Value emit(ElementBuilder &e, SinOp, ValueRange in) { return math::SinOp::create(e, in[0]); }
static Value emit(ElementBuilder &e, CosOp, ValueRange in) { return math::CosOp::create(e, in[0]); }

static Value sigmoid(ElementBuilder &e, Value x) {
  Value exponential = math::ExpOp::create(e, e.sub(e.constant(0), x));
  return e.div(e.constant(1), e.add(e.constant(1), exponential));
}

static Value emit(ElementBuilder &e, SigmoidOp, ValueRange in) { return sigmoid(e, in[0]); }
static Value emit(ElementBuilder &e, SiluOp, ValueRange in) {
  return e.mul(in[0], sigmoid(e, in[0]));
}

static Value emit(ElementBuilder &e, SoftplusOp, ValueRange in) {
  Value x = in[0], zero = e.constant(0);
  Value magnitude = math::AbsFOp::create(e, x);
  Value tail = math::ExpOp::create(e, e.sub(zero, magnitude));
  Value logarithm = math::Log1pOp::create(e, tail);
  return e.add(e.select(e.less(x, zero), zero, x), logarithm);
}

/// x erfc(-x / root 2) / 2, or x / (1 + e^-2u) for x (1 + tanh(u)) / 2: 1 + erf and 1 + tanh would
/// cancel to 0 where x is far below 0.
static Value emit(ElementBuilder &e, GeluOp op, ValueRange in) {
  Value x = in[0];
  if (op.getForm() == GeluForm::Erf) {
    Value tail = math::ErfcOp::create(e, e.mul(x, e.constant(-std::sqrt(0.5))));
    return e.mul(e.mul(e.constant(0.5), x), tail);
  }
  double factor = -2 * std::sqrt(2 / M_PI);
  Value slope = e.add(e.constant(factor), e.mul(e.constant(factor * 0.044715), e.mul(x, x)));
  Value exponential = math::ExpOp::create(e, e.mul(x, slope));
  return e.div(x, e.add(e.constant(1), exponential));
}

/// Phi(x) + x Phi'(x), or s + x s (1 - s) u' with the sigmoid s of u.
static Value emit(ElementBuilder &e, GeluSlopeOp op, ValueRange in) {
  Value x = in[0], squared = e.mul(x, x);
  if (op.getForm() == GeluForm::Erf) {
    Value tail = math::ErfcOp::create(e, e.mul(x, e.constant(-std::sqrt(0.5))));
    Value density = math::ExpOp::create(e, e.mul(squared, e.constant(-0.5)));
    return e.add(e.mul(e.constant(0.5), tail),
                 e.mul(e.mul(x, density), e.constant(1 / std::sqrt(2 * M_PI))));
  }
  double factor = 2 * std::sqrt(2 / M_PI);
  Value slope = e.add(e.constant(factor), e.mul(e.constant(factor * 0.044715), squared));
  Value s = sigmoid(e, e.mul(x, slope));
  Value inner = e.add(e.constant(factor), e.mul(e.constant(3 * factor * 0.044715), squared));
  Value rising = e.mul(e.mul(x, s), e.mul(e.sub(e.constant(1), s), inner));
  return e.add(s, rising);
}

/// NaN is not above, and none of both signs.
static Value emit(ElementBuilder &e, IsAboveOp op, ValueRange in) {
  return e.select(e.less(e.constant(op.getValue().convertToDouble()), in[0]), e.constant(1),
                  e.constant(0));
}

static Value emit(ElementBuilder &e, SignOp, ValueRange in) {
  Value zero = e.constant(0);
  return e.select(e.less(zero, in[0]), e.constant(1),
                  e.select(e.less(in[0], zero), e.constant(-1), in[0]));
}

static Value emit(ElementBuilder &e, LogOp, ValueRange in) { return math::LogOp::create(e, in[0]); }

static Value emit(ElementBuilder &e, AddConstOp op, ValueRange in) {
  return e.add(in[0], e.constant(op.getValue().convertToDouble()));
}

static Value emit(ElementBuilder &e, ClampMinOp op, ValueRange in) {
  Value floor = e.constant(op.getValue().convertToDouble());
  return e.select(e.less(in[0], floor), floor, in[0]);
}

/// x^y as C's pow has it: a negative base has a power where y is whole, 0^0 is 1.
static Value emit(ElementBuilder &e, PowOp op, ValueRange in) {
  Value x = in[0];
  if (!op.getExponent())
    return math::PowFOp::create(e, x, in[1]);
  double exponent = op.getExponent()->convertToDouble(), whole = std::floor(exponent);
  if (exponent == whole && std::fabs(exponent) <= 64) {
    Value power = e.power(x, int64_t(std::fabs(exponent)));
    return exponent < 0 ? e.div(e.constant(1), power) : power;
  }
  if (exponent == 0.5)
    return math::SqrtOp::create(e, x);
  return math::PowFOp::create(e, x, e.constant(exponent));
}

//===----------------------------------------------------------------------===//
// Products, sums and weights
//===----------------------------------------------------------------------===//

static Value emit(ElementBuilder &e, HadamardOp, ValueRange in) {
  Value result = in[0];
  for (Value factor : in.drop_front())
    result = e.mul(result, factor);
  return result;
}

static Value emit(ElementBuilder &e, AddOp, ValueRange in) {
  Value result = in[0];
  for (Value term : in.drop_front())
    result = e.add(result, term);
  return result;
}

static Value emit(ElementBuilder &e, ScaleOp op, ValueRange in) {
  return e.mul(in[0], e.constant(op.getFactor().convertToDouble()));
}

static Value emit(ElementBuilder &e, AddVecOp, ValueRange in) { return e.add(in[0], in[1]); }
static Value emit(ElementBuilder &e, MulVecOp, ValueRange in) { return e.mul(in[0], in[1]); }
static Value emit(ElementBuilder &e, DivVecOp, ValueRange in) { return e.div(in[0], in[1]); }

Value polyattn::emitElement(ElementBuilder &e, ElementwiseOpInterface op, ValueRange in) {
  return dispatch<Value>(op, [&](auto elementwise) { return emit(e, elementwise, in); });
}

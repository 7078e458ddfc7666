//===- ElementBuilder.h - shorthands for elements of a map ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ELEMENTBUILDER_H
#define POLYATTN_CONVERSION_ELEMENTBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace polyattn {

/// Elements inside a map's region.
class ElementBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;

  Value constant(double value) {
    return mlir::arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  Value add(Value a, Value b) { return mlir::arith::AddFOp::create(*this, a, b); }
  Value sub(Value a, Value b) { return mlir::arith::SubFOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return mlir::arith::MulFOp::create(*this, a, b); }
  Value div(Value a, Value b) { return mlir::arith::DivFOp::create(*this, a, b); }
  Value less(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OLT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(*this, condition, a, b);
  }
  Value magnitude(Value x) { return mlir::math::AbsFOp::create(*this, x); }
  /// -1, 0 or 1; 0 of NaN.
  Value sign(Value x);
  Value exponential(Value x) { return mlir::math::ExpOp::create(*this, x); }
  /// e^x of x <= 0, beside terms of about 1: its error is relative to these.
  Value exponentialOfNegative(Value x) {
    return mlir::math::ExpOp::create(*this, x, mlir::arith::FastMathFlags::afn);
  }
  Value larger(Value a, Value b) { return select(less(a, b), b, a); }
  Value smaller(Value a, Value b) { return select(less(b, a), b, a); }
  /// x^n by repeated squaring, n >= 0.
  Value power(Value x, int64_t n);
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ELEMENTBUILDER_H

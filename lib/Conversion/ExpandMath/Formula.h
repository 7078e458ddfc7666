//===- Formula.h - formulas over numbers and vectors of f32 -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_EXPANDMATH_FORMULA_H
#define POLYATTN_LIB_CONVERSION_EXPANDMATH_FORMULA_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace polyattn {

/// How a machine raises 2 to a power.
enum class Exp2 {
  Instruction, ///< math.exp2 stays
  Arithmetic,
};

/// Writes a formula in the place of an op, for a number or element by element for a vector.
class Formula {
public:
  using Value = mlir::Value;

  Formula(mlir::Operation *op, mlir::OpBuilder &builder, Exp2 powers)
      : powers(powers), b(op->getLoc(), builder), type(op->getResult(0).getType()) {}

  Value constant(double value) { return splat(type, b.getF32FloatAttr(float(value))); }
  Value integer(int32_t value) { return splat(bitsType(), b.getI32IntegerAttr(value)); }

  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  /// x y + z with one rounding: what follows relies on it.
  Value fma(Value x, Value y, Value z) { return make<mlir::math::FmaOp>(x, y, z); }
  /// x y + z with one rounding or two, as the machine likes it.
  Value multiplyAdd(Value x, Value y, Value z) {
    return mlir::math::FmaOp::create(b, x, y, z, mlir::arith::FastMathFlags::contract);
  }
  /// A quotient whose last two bits may be wrong.
  Value roughDiv(Value x, Value y) {
    return mlir::arith::DivFOp::create(b, x, y, mlir::arith::FastMathFlags::afn);
  }
  Value exp2(Value x);
  /// e^(x + tail), where x + tail has more digits than a number, or e^x.
  Value exp(Value x, Value tail = {});
  Value abs(Value x) { return make<mlir::math::AbsFOp>(x); }
  Value withSign(Value x, Value sign) { return make<mlir::math::CopySignOp>(x, sign); }
  /// NaN stays NaN.
  Value atLeast(Value x, double low) { return make<mlir::arith::MaximumFOp>(x, constant(low)); }
  Value atMost(Value x, double high) { return make<mlir::arith::MinimumFOp>(x, constant(high)); }
  Value clamp(Value x, double low, double high) { return atMost(atLeast(x, low), high); }
  /// coefficients[0] + coefficients[1] x + ...
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value sum = constant(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = multiplyAdd(sum, x, constant(coefficient));
    return sum;
  }

  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, bitsType(), x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, type, x); }
  Value shiftLeft(Value integers, int32_t count) {
    return make<mlir::arith::ShLIOp>(integers, integer(count));
  }
  Value toInteger(Value x) { return mlir::arith::FPToSIOp::create(b, bitsType(), x); }
  Value toFloat(Value x) { return mlir::arith::SIToFPOp::create(b, type, x); }

  /// False where one of the two is NaN.
  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value isZero(Value integers) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::eq, integers, integer(0));
  }
  Value select(Value condition, Value x, Value y) {
    return make<mlir::arith::SelectOp>(condition, x, y);
  }

  template <typename Op, typename... Operands> Value make(Value x, Operands... rest) {
    return Op::create(b, x, rest...).getResult();
  }

  const Exp2 powers;

private:
  mlir::Type bitsType() {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      return vector.clone(b.getI32Type());
    return b.getI32Type();
  }
  Value splat(mlir::Type of, mlir::TypedAttr value) {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(of))
      value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(b, value);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return mlir::arith::CmpFOp::create(b, predicate, x, y);
  }

  mlir::ImplicitLocOpBuilder b;
  mlir::Type type;
};

/// Rewrites an op on f32 or vectors of f32 by a formula.
template <typename Op> struct FormulaPattern : mlir::OpRewritePattern<Op> {
  using Function = mlir::Value (*)(Formula &, Op);
  FormulaPattern(mlir::MLIRContext *context, Exp2 powers, Function function)
      : mlir::OpRewritePattern<Op>(context), powers(powers), function(function) {}
  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    if (!mlir::getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    Formula formula(op, rewriter, powers);
    rewriter.replaceOp(op, function(formula, op));
    return mlir::success();
  }
  Exp2 powers;
  Function function;
};

template <typename Op>
void addFormula(mlir::RewritePatternSet &patterns, Exp2 powers,
                mlir::Value (*function)(Formula &, Op)) {
  patterns.add<FormulaPattern<Op>>(patterns.getContext(), powers, function);
}

/// exp, exp2 where there is no instruction, expm1, tanh, erf, erfc.
void populateExponentialFormulas(mlir::RewritePatternSet &patterns, Exp2 powers);
/// log, log2, log1p, powf.
void populateLogarithmFormulas(mlir::RewritePatternSet &patterns, Exp2 powers);
/// sin, cos.
void populateCircleFormulas(mlir::RewritePatternSet &patterns, Exp2 powers);

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_EXPANDMATH_FORMULA_H

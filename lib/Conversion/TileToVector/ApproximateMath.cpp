//===- ApproximateMath.cpp - functions of vectors become arithmetic -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/ExpandMath/Formula.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Target/CPU.h"

namespace polyattn {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using polyattn::Instructions;

namespace {

/// Whether x is c < y ? c : y for a constant c that is at most `limit`.
static bool isAtMost(Value x, double limit) {
  auto select = x.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  DenseFPElementsAttr splat;
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OLT ||
      compare.getLhs() != select.getTrueValue() || compare.getRhs() != select.getFalseValue())
    return false;
  return matchPattern(compare.getLhs(), m_Constant(&splat)) && splat.isSplat() &&
         splat.getSplatValue<APFloat>().convertToDouble() <= limit;
}

/// e^r 2^n where |r| <= ln 2 / 2 and `rounded` is n + kMagic.
class PowerOfTwo {
public:
  /// Adding 1.5 * 2^23 + 126 to x rounds it to n and leaves n + 126 in the low bits, the exponent
  /// of 2^(n - 1).
  static constexpr double kMagic = 12582912 + 126;

  PowerOfTwo(Operation *op, PatternRewriter &rewriter)
      : b(op->getLoc(), rewriter), type(cast<VectorType>(op->getResult(0).getType())) {}

  Value constant(double x) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, float(x)));
  }
  /// Rounded once or twice.
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z, arith::FastMathFlags::contract);
  }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }

  /// The polynomial is that of 2 e^r, so that n = 128 does not overflow.
  Value result(Value r, Value rounded) {
    // Interpolates 2 exp at the Chebyshev nodes: relative error 2.6e-9.
    const double coefficients[] = {2.0,
                                   2.000000075659228,
                                   1.0000000094518822,
                                   0.3333283002258021,
                                   0.08333270453608277,
                                   0.016750336577928817,
                                   0.0027882321512876698};
    Value sum = constant(coefficients[6]);
    for (int i = 5; i >= 0; --i)
      sum = fma(sum, r, constant(coefficients[i]));
    auto bits = type.clone(b.getI32Type());
    Value shift = arith::ConstantOp::create(b, DenseElementsAttr::get(bits, int32_t(23)));
    Value power = arith::ShLIOp::create(b, arith::BitcastOp::create(b, bits, rounded), shift);
    return mul(sum, arith::BitcastOp::create(b, type, power));
  }
  /// `value` where x is outside. Comparisons with NaN are false: it stays.
  Value where(arith::CmpFPredicate predicate, Value x, double limit, double value, Value result) {
    Value outside = arith::CmpFOp::create(b, predicate, x, constant(limit));
    return arith::SelectOp::create(b, outside, constant(value), result);
  }

private:
  ImplicitLocOpBuilder b;
  VectorType type;
};

template <typename Op> bool isVectorOfF32(Op op) {
  auto type = dyn_cast<VectorType>(op.getType());
  return type && type.getElementType().isF32();
}

constexpr double kInfinity = std::numeric_limits<float>::infinity();

/// exp(x) = 2^n exp(r), n whole and |r| <= ln 2 / 2; half the instructions of MLIR's expansion.
/// What is below 2^-126 becomes 0. Errors stay below one unit in the last place.
struct ExpAsPolynomial : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!isVectorOfF32(op))
      return rewriter.notifyMatchFailure(op, "not a vector of f32");
    PowerOfTwo p(op, rewriter);
    Value x = op.getOperand(), magic = p.constant(PowerOfTwo::kMagic);
    Value rounded = p.fma(x, p.constant(1.4426950408889634), magic);
    Value n = p.sub(rounded, magic);
    // ln 2 in two parts, the first of which has few bits: its product with n is exact.
    Value r = p.fma(n, p.constant(-0.693359375), x);
    r = p.fma(n, p.constant(2.12194440054690583e-4), r);
    Value result = p.where(arith::CmpFPredicate::OLT, x, -87.3, 0, p.result(r, rounded));
    constexpr double largest = 89;
    if (!isAtMost(x, largest))
      result = p.where(arith::CmpFPredicate::OGT, x, largest, kInfinity, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// exp2(x) in the same way; n and what is left of x are exact.
struct Exp2AsPolynomial : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const override {
    if (!isVectorOfF32(op))
      return rewriter.notifyMatchFailure(op, "not a vector of f32");
    PowerOfTwo p(op, rewriter);
    Value x = op.getOperand(), magic = p.constant(PowerOfTwo::kMagic);
    Value rounded = arith::AddFOp::create(rewriter, op.getLoc(), x, magic);
    Value r = p.mul(p.sub(x, p.sub(rounded, magic)), p.constant(0.69314718055994530942));
    Value result = p.where(arith::CmpFPredicate::OLT, x, -126, 0, p.result(r, rounded));
    result = p.where(arith::CmpFPredicate::OGT, x, 128.5, kInfinity, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Whether the machine that a function is for has an instruction; that of a function that does not
/// say what there is has none.
static bool machineHas(Operation *op, Instructions instruction) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto text =
      function ? function->getAttrOfType<StringAttr>("polyattn.instructions") : StringAttr();
  Instructions has =
      text ? polyattn::parseInstructions(text).value_or(Instructions::None) : Instructions::None;
  return (has & instruction) == instruction;
}

/// A fused multiply-add where the machine has one, two operations where it would be a call. Where
/// one rounding matters the sum is made in f64 then, which holds the product of two f32.
struct FmaAsMultiplyAdd : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "not a vector");
    bool mayRoundTwice = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::contract);
    if (mayRoundTwice || machineHas(op, Instructions::Fma) || !type.getElementType().isF32()) {
      rewriter.replaceOpWithNewOp<vector::FMAOp>(op, op.getA(), op.getB(), op.getC());
      return success();
    }
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto wide = [&](Value x) -> Value {
      return arith::ExtFOp::create(b, type.clone(b.getF64Type()), x);
    };
    Value product = arith::MulFOp::create(b, wide(op.getA()), wide(op.getB()));
    Value sum = arith::AddFOp::create(b, product, wide(op.getC()));
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, sum);
    return success();
  }
};

/// A floor where the machine has no instruction for it. Numbers from 2^23 on are whole, and so they
/// and NaN stay as they are.
struct FloorAsArithmetic : OpRewritePattern<math::FloorOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FloorOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || !type.getElementType().isF32() || machineHas(op, Instructions::Round))
      return rewriter.notifyMatchFailure(op, "not a vector of f32, or an instruction");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](float x) -> Value {
      return arith::ConstantOp::create(b, DenseElementsAttr::get(type, x));
    };
    Value x = op.getOperand();
    Value magnitude = math::AbsFOp::create(b, x);
    Value small =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, magnitude, constant(8388608.0f));
    Value tame = arith::SelectOp::create(b, small, x, constant(0));
    Value cut = arith::FPToSIOp::create(b, type.clone(b.getI32Type()), tame);
    Value whole = arith::SIToFPOp::create(b, type, cut);
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, whole, tame);
    Value below = arith::SubFOp::create(b, whole, constant(1));
    Value floor = arith::SelectOp::create(b, above, below, whole);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, small, floor, x);
    return success();
  }
};

/// Functions become polynomials: what is left of the math dialect would become calls of libm,
/// one for each lane.
struct ApproximateMathPass : polyattn::impl::ApproximateMathBase<ApproximateMathPass> {
  bool hasFunctions() {
    return getOperation()
        .walk([](Operation *op) {
          bool function = isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
                          !isa<math::SqrtOp, math::AbsFOp>(op);
          bool rounds = isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
          return function || rounds ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }
  void runOnOperation() final {
    if (!hasFunctions())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpAsPolynomial, Exp2AsPolynomial, FloorAsArithmetic, FmaAsMultiplyAdd>(
        &getContext());
    // What MLIR's own expansions lose is too much: sine and cosine of large angles, powers of
    // negative bases, the tail of erfc.
    polyattn::populateCircleFormulas(patterns);
    polyattn::populateErfcFormula(patterns);
    polyattn::populatePowerFormulas(patterns);
    // 1 / sqrt is exact and as fast as a vector; its expansion does not take vectors.
    auto wanted = [](StringRef name) {
      return !llvm::is_contained({math::ExpOp::getOperationName(), math::Exp2Op::getOperationName(),
                                  math::RsqrtOp::getOperationName(),
                                  math::SinOp::getOperationName(), math::CosOp::getOperationName(),
                                  math::ErfcOp::getOperationName(),
                                  math::PowFOp::getOperationName()},
                                 name);
    };
    populateMathF32ExpansionPatterns(patterns, wanted);
    populateMathPolynomialApproximationPatterns(patterns, wanted);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    // What an expansion leaves may have one of its own.
    constexpr int deepest = 4;
    for (int i = 0; i < deepest && hasFunctions(); ++i)
      walkAndApplyPatterns(getOperation(), frozen);
  }
};

} // namespace

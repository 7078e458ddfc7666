//===- FeatureFolds.cpp - smaller programs for the same features ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rewrite here gives the same features in the same order, up to rounding, and keeps
// the type: it holds wherever the vector goes, into a state too. What is the same for
// scores only is the business of --polyattn-simplify-features.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <functional>
#include <numeric>

using namespace mlir;
using namespace polyattn;

static int64_t widthOf(Value value) { return cast<FeatureType>(value.getType()).getWidth(); }

static std::optional<double> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getValue().convertToDouble();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Ops that give back an operand
//===----------------------------------------------------------------------===//

/// The value where it has the op's type: structures may differ where widths agree.
static OpFoldResult sameType(Operation *op, Value value) {
  return value.getType() == op->getResult(0).getType() ? OpFoldResult(value) : OpFoldResult();
}

static OpFoldResult foldSingleOperand(Operation *op) {
  return op->getNumOperands() == 1 ? sameType(op, op->getOperand(0)) : OpFoldResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
OpFoldResult TensorOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
OpFoldResult HadamardOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
OpFoldResult AddOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult AddConstOp::fold(FoldAdaptor) {
  return getValue().isZero() ? sameType(*this, getInput()) : OpFoldResult();
}

OpFoldResult PowOp::fold(FoldAdaptor) {
  bool isIdentity = getExponent() && getExponent()->isExactlyValue(1.0);
  return isIdentity ? sameType(*this, getInput()) : OpFoldResult();
}

OpFoldResult ReluOp::fold(FoldAdaptor) {
  return isNonNegativeNearby(getInput()) ? sameType(*this, getInput()) : OpFoldResult();
}

OpFoldResult AbsOp::fold(FoldAdaptor) {
  return isNonNegativeNearby(getInput()) ? sameType(*this, getInput()) : OpFoldResult();
}

OpFoldResult ClampMinOp::fold(FoldAdaptor) {
  bool isIdentity = isNonNegativeNearby(getInput()) && getValue().convertToDouble() <= 0;
  return isIdentity ? sameType(*this, getInput()) : OpFoldResult();
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  bool isIdentity = llvm::equal(getIndices(), llvm::seq<int64_t>(0, widthOf(getInput())));
  return isIdentity ? sameType(*this, getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Factors move outwards and gather
//===----------------------------------------------------------------------===//

namespace {

/// Takes the factors off the op's operands.
struct Peeled {
  SmallVector<Value> operands;
  SmallVector<double> factors; // 1 for an operand that is no `scale`

  explicit Peeled(Operation *op) {
    for (Value operand : op->getOperands()) {
      auto scale = operand.getDefiningOp<ScaleOp>();
      operands.push_back(scale ? scale.getInput() : operand);
      factors.push_back(scale ? scale.getFactor().convertToDouble() : 1.0);
    }
  }
  bool any() const {
    return llvm::any_of(factors, [](double factor) { return factor != 1.0; });
  }
};

/// f with op(c1 a1, c2 a2, ...) = f op(a1, a2, ...); none where there is no such number, or NaN.
/// Of a `scale` its own factor is a part of f.
std::optional<double> factorOutside(Operation *op, ArrayRef<double> factors) {
  using Factor = std::optional<double>;
  auto product = [&] {
    double result = 1;
    for (double factor : factors)
      result = multiplyFactors(result, factor);
    return result;
  };
  auto ifPositive = [&]() -> Factor { return factors[0] > 0 ? Factor(factors[0]) : std::nullopt; };
  return llvm::TypeSwitch<Operation *, Factor>(op)
      .Case<HadamardOp, TensorOp, TriuOp>([&](auto) { return product(); })
      .Case([&](ScaleOp scale) {
        return multiplyFactors(factors[0], scale.getFactor().convertToDouble());
      })
      .Case<SelectOp, RopeOp, MulVecOp, DivVecOp>([&](auto) { return factors[0]; })
      .Case([&](ProjectOp project) -> Factor {
        return project.getBias() ? std::nullopt : Factor(factors[0]);
      })
      .Case([&](PowerOp power) -> Factor {
        double factor = raiseFactor(factors[0], power.getDegree());
        return power.getAbs() ? std::fabs(factor) : factor;
      })
      .Case([&](PowOp pow) -> Factor {
        if (!pow.getExponent())
          return std::nullopt;
        double exponent = pow.getExponent()->convertToDouble();
        bool isWhole = exponent >= 0 && exponent == std::floor(exponent);
        return isWhole ? Factor(raiseFactor(factors[0], exponent)) : std::nullopt;
      })
      .Case([&](SquaredNormOp) { return multiplyFactors(factors[0], factors[0]); })
      .Case([&](AbsOp) { return std::fabs(factors[0]); })
      .Case<ReluOp, MaxOp>([&](auto) { return ifPositive(); })
      .Case<AddOp, ConcatOp>(
          [&](auto) { return llvm::all_equal(factors) ? Factor(factors[0]) : std::nullopt; })
      .Default([](Operation *) { return std::nullopt; });
}

/// op(c a) -> c op(a), scale(c, scale(d, a)) -> scale(c d, a).
struct MoveFactorOut : RewritePattern {
  explicit MoveFactorOut(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_present<PolyAttnDialect>(op->getDialect()) || op->getNumResults() != 1 ||
        !isa<FeatureType>(op->getResult(0).getType()))
      return rewriter.notifyMatchFailure(op, "no feature op");
    Peeled peeled(op);
    if (!peeled.any())
      return rewriter.notifyMatchFailure(op, "no operand is scaled");
    std::optional<double> factor = factorOutside(op, peeled.factors);
    if (!factor)
      return rewriter.notifyMatchFailure(op, "a factor does not pass through");
    if (!isRepresentable(*factor))
      return rewriter.notifyMatchFailure(op, "the factors' product is beyond the range of f32");

    if (isa<ScaleOp>(op)) {
      rewriter.replaceOpWithNewOp<ScaleOp>(op, peeled.operands[0], APFloat(*factor));
      return success();
    }
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(peeled.operands); });
    rewriter.setInsertionPointAfter(op);
    auto scaled = ScaleOp::create(rewriter, op->getLoc(), op->getResult(0), APFloat(*factor));
    rewriter.replaceAllUsesExcept(op->getResult(0), scaled, scaled);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// op(c, c, ...) for an element-wise op; every element of the result is this number.
std::optional<double> elementOf(Operation *op, double c) {
  using Element = std::optional<double>;
  return llvm::TypeSwitch<Operation *, Element>(op)
      .Case([&](ScaleOp op) { return c * op.getFactor().convertToDouble(); })
      .Case<SelectOp, MaxOp>([&](auto) { return c; })
      .Case([&](ReluOp) { return std::fmax(c, 0.0); })
      .Case([&](AbsOp) { return std::fabs(c); })
      .Case([&](EluPlusOneOp) { return c > 0 ? c + 1 : std::exp(c); })
      .Case([&](ExpOp) { return std::exp(c); })
      .Case([&](TanhOp) { return std::tanh(c); })
      .Case([&](SinOp) { return std::sin(c); })
      .Case([&](CosOp) { return std::cos(c); })
      .Case([&](SigmoidOp) { return 1 / (1 + std::exp(-c)); })
      .Case([&](SiluOp) { return c / (1 + std::exp(-c)); })
      .Case([&](AddConstOp op) { return c + op.getValue().convertToDouble(); })
      .Case([&](ClampMinOp op) { return std::fmax(c, op.getValue().convertToDouble()); })
      .Case([&](PowOp op) -> Element {
        if (!op.getExponent())
          return std::nullopt;
        return std::pow(c, op.getExponent()->convertToDouble());
      })
      .Case([&](SoftplusOp) { return std::fmax(c, 0.0) + std::log1p(std::exp(-std::fabs(c))); })
      .Case([&](GeluOp op) {
        if (op.getForm() == GeluForm::Erf)
          return 0.5 * c * std::erfc(-c * std::sqrt(0.5));
        return c / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (c + 0.044715 * c * c * c)));
      })
      .Case([&](SquaredNormOp op) { return c * c * widthOf(op.getInput()); })
      .Case([&](LayerNormOp op) -> Element {
        if (!op.getAffine().empty())
          return std::nullopt;
        return 0.0 / op.getEps().convertToDouble(); // the mean is c; no number where eps is zero
      })
      .Case([&](L2NormOp op) {
        double length = std::fabs(c) * std::sqrt(double(widthOf(op.getInput())));
        return c / std::fmax(length, op.getEps().convertToDouble());
      })
      .Case([&](SumNormOp op) {
        return c / (c * widthOf(op.getInput()) + op.getEps().convertToDouble());
      })
      .Case([&](SoftmaxOp op) { return double(op.getGroups()) / widthOf(op.getInput()); })
      .Default([](Operation *) { return std::nullopt; });
}

/// exp(constant) -> constant, and so on.
struct FoldConstantElement : RewritePattern {
  explicit FoldConstantElement(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() != 1 || op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "not of one vector");
    std::optional<double> constant = constantOf(op->getOperand(0));
    std::optional<double> element = constant ? elementOf(op, *constant) : std::nullopt;
    if (!element || !std::isfinite(*element))
      return rewriter.notifyMatchFailure(op, "no constant");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, APFloat(*element), widthOf(op->getResult(0)));
    return success();
  }
};

/// project(0) -> 0
struct ProjectOfZero : OpRewritePattern<ProjectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ProjectOp op, PatternRewriter &rewriter) const override {
    if (op.getBias() || constantOf(op.getInput()) != 0.0)
      return rewriter.notifyMatchFailure(op, "the input is not zero, or there is a bias");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, APFloat(0.0), widthOf(op.getResult()));
    return success();
  }
};

/// hadamard(constant, constant) -> constant, likewise for add.
template <typename Op> struct FoldConstantOperands : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr bool isProduct = std::is_same_v<Op, HadamardOp>;
    double result = isProduct ? 1 : 0;
    for (Value input : op.getInputs()) {
      std::optional<double> constant = constantOf(input);
      if (!constant)
        return rewriter.notifyMatchFailure(op, "an operand is no constant");
      result = isProduct ? result * *constant : result + *constant;
    }
    if (!std::isfinite(result))
      return rewriter.notifyMatchFailure(op, "the result is no number");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, APFloat(result), widthOf(op.getResult()));
    return success();
  }
};

/// The operands that are no constants, where they alone give the op's type again.
template <typename Op>
FailureOr<SmallVector<Value>> withoutConstants(Op op, SmallVectorImpl<double> &constants) {
  SmallVector<Value> others;
  int64_t width = 1;
  for (Value input : op.getInputs()) {
    if (std::optional<double> constant = constantOf(input)) {
      constants.push_back(*constant);
      continue;
    }
    others.push_back(input);
    width = std::max(width, widthOf(input));
  }
  bool loses = width != widthOf(op.getResult());
  bool structured = others.size() == 1 && others[0].getType() != op.getResult().getType();
  if (constants.empty() || others.empty() || loses || structured)
    return failure();
  return others;
}

/// hadamard(a, constant, b) -> scale(hadamard(a, b)), add(a, constant, b) -> add_const(add(a, b))
template <typename Op, typename WithConstant, typename Combine>
struct ConstantsApart : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    SmallVector<double> constants;
    FailureOr<SmallVector<Value>> others = withoutConstants(op, constants);
    if (failed(others))
      return rewriter.notifyMatchFailure(op, "no constant, or the result's type needs it");
    double constant =
        std::accumulate(constants.begin() + 1, constants.end(), constants.front(), Combine());
    if (!std::isfinite(constant))
      return rewriter.notifyMatchFailure(op, "the constants together are no number");
    Value rest = Op::create(rewriter, op.getLoc(), *others);
    rewriter.template replaceOpWithNewOp<WithConstant>(op, rest, APFloat(constant));
    return success();
  }
};
using HadamardConstant = ConstantsApart<HadamardOp, ScaleOp, std::multiplies<double>>;
using AddConstant = ConstantsApart<AddOp, AddConstOp, std::plus<double>>;

/// hadamard(hadamard(a, b), c) -> hadamard(a, b, c), likewise for add, where the inner
/// result has no other use.
template <typename Op> struct FlattenNested : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    SmallVector<Value> flat;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<Op>();
      if (inner && inner->hasOneUse())
        llvm::append_range(flat, inner.getInputs());
      else
        flat.push_back(input);
    }
    if (flat.size() == op.getInputs().size())
      return rewriter.notifyMatchFailure(op, "nothing is nested");
    rewriter.replaceOpWithNewOp<Op>(op, flat);
    return success();
  }
};

/// project(project(x, W1), W2, b) -> project(x, W1 W2, b)
struct ProjectOfProject : OpRewritePattern<ProjectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ProjectOp op, PatternRewriter &rewriter) const override {
    ProjectOp inner = mergeableInput(op);
    if (!inner)
      return rewriter.notifyMatchFailure(op, "the input is no projection, or one projection would "
                                             "not be cheaper");
    Value weight =
        WeightProductOp::create(rewriter, op.getLoc(), inner.getWeight(), op.getWeight());
    rewriter.replaceOpWithNewOp<ProjectOp>(op, inner.getInput(), weight, op.getBias());
    return success();
  }
};

/// select(select(a, i), j) -> select(a, i[j])
struct SelectOfSelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<SelectOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "the input is no select");
    SmallVector<int64_t> indices;
    for (int64_t index : op.getIndices())
      indices.push_back(inner.getIndices()[index]);
    rewriter.replaceOpWithNewOp<SelectOp>(op, inner.getInput(), indices);
    return success();
  }
};

} // namespace

void PolyAttnDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns
      .add<MoveFactorOut, FoldConstantElement, HadamardConstant, AddConstant,
           FoldConstantOperands<HadamardOp>, FoldConstantOperands<AddOp>, FlattenNested<HadamardOp>,
           FlattenNested<AddOp>, ProjectOfProject, ProjectOfZero, SelectOfSelect>(getContext());
}

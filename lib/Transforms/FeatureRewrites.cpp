//===- FeatureRewrites.cpp - cheaper programs for the same features -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rewrite here gives the same features in the same order, up to rounding, and keeps
// the type: it holds wherever the vector goes, into a state too. They reassociate, and some
// weigh costs: that is why they are no canonicalizations.
//
//===----------------------------------------------------------------------===//

#include "FeatureRewrites.h"
#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureFacts.h"
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

/// op(c a) -> c op(a), scale(c, scale(d, a)) -> scale(c d, a).
struct MoveFactorOut : OpInterfaceRewritePattern<FeatureOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(FeatureOpInterface op, PatternRewriter &rewriter) const override {
    Peeled peeled(op);
    if (!peeled.any())
      return rewriter.notifyMatchFailure(op, "no operand is scaled");
    std::optional<double> factor = op.getFactorOutside(peeled.factors);
    if (!factor)
      return rewriter.notifyMatchFailure(op, "a factor does not pass through");
    if (!isRepresentable(*factor))
      return rewriter.notifyMatchFailure(op, "the factors' product is beyond the range of f32");

    if (isa<ScaleOp>(*op)) {
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
// Sums, products and projections
//===----------------------------------------------------------------------===//

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

/// hadamard(hadamard(a, b), c) -> hadamard(a, b, c), where the inner result has no other use.
struct FlattenProducts : OpRewritePattern<HadamardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(HadamardOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> flat;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<HadamardOp>();
      if (inner && inner->hasOneUse())
        llvm::append_range(flat, inner.getInputs());
      else
        flat.push_back(input);
    }
    if (flat.size() == op.getInputs().size())
      return rewriter.notifyMatchFailure(op, "nothing is nested");
    rewriter.replaceOpWithNewOp<HadamardOp>(op, flat);
    return success();
  }
};

/// add(add(a, b), c) and add(c, add(a, b)) -> add(a, b, c), where the inner result has no other
/// use. Terms keep their order: of c + (a - b) the difference of large numbers comes first, or it
/// would round away a small c.
struct FlattenSums : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    auto nested = [](Value input) {
      auto inner = input.getDefiningOp<AddOp>();
      return inner && inner->hasOneUse() ? inner : AddOp();
    };
    SmallVector<Value> inputs(op.getInputs());
    if (inputs.size() == 2 && !nested(inputs[0]) && nested(inputs[1]))
      std::swap(inputs[0], inputs[1]);
    AddOp first = nested(inputs[0]);
    if (!first)
      return rewriter.notifyMatchFailure(op, "no nested sum comes first");
    SmallVector<Value> flat(first.getInputs());
    flat.append(inputs.begin() + 1, inputs.end());
    rewriter.replaceOpWithNewOp<AddOp>(op, flat);
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

} // namespace

void polyattn::populateFeatureRewrites(RewritePatternSet &patterns) {
  patterns.add<MoveFactorOut, HadamardConstant, AddConstant, FlattenProducts, FlattenSums,
               ProjectOfProject>(patterns.getContext());
}

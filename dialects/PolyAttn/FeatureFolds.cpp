//===- FeatureFolds.cpp - smaller programs for the same features ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalizations are cheap and exact: folds of constants in f64, and ops that give back what
// others have. What moves factors, reassociates or weighs costs, and what is the same for scores
// only, is the business of --polyattn-simplify-features.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureOpRules.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

static std::optional<double> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getValue().convertToDouble();
  return std::nullopt;
}

namespace {

/// An op of constants whose result is one is a constant: exp(c), hadamard(c, d), project(0).
struct FoldConstantElement : OpInterfaceRewritePattern<FeatureOpInterface> {
  explicit FoldConstantElement(MLIRContext *context)
      : OpInterfaceRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(FeatureOpInterface op, PatternRewriter &rewriter) const override {
    SmallVector<double> vectors;
    for (Value operand : op->getOperands()) {
      if (!isa<FeatureType>(operand.getType()))
        continue;
      std::optional<double> constant = constantOf(operand);
      if (!constant)
        return rewriter.notifyMatchFailure(op, "an operand is no constant");
      vectors.push_back(*constant);
    }
    if (vectors.empty())
      return rewriter.notifyMatchFailure(op, "not of vectors");
    std::optional<double> element = op.getConstantElement(vectors);
    if (!element || !std::isfinite(*element))
      return rewriter.notifyMatchFailure(op, "the result is no constant");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, APFloat(*element), widthOf(op->getResult(0)));
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
  patterns.add<FoldConstantElement, SelectOfSelect>(getContext());
}

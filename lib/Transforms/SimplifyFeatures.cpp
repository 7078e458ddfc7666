//===- SimplifyFeatures.cpp - smaller programs for the same scores --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureRewrites.h"
#include "ScoreForm.h"
#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_SIMPLIFYFEATURES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using Pair = std::pair<Value, Value>;

/// True where it is known of the new scores too that they are not negative, if it was.
static bool keepsSign(Pair old, double oldScale, Pair rewritten, double scale) {
  return !scoresNonNegative(old.first, old.second, oldScale) ||
         scoresNonNegative(rewritten.first, rewritten.second, scale);
}

/// AttendOp, C4. A part with the factor zero has a degree as long as it stands there.
static bool haveOneDegree(Value vector, Value local) {
  std::optional<int64_t> degree = factsOf(vector).degree, localDegree = factsOf(local).degree;
  return !degree || !localDegree || degree == localDegree;
}

/// Gives an attend simpler vectors with the same scores.
static void simplifyScores(AttendOp op, ScoreForm &form) {
  Scored score = form.simplify(op.getQuery(), op.getKey());
  std::optional<Scored> local;
  if (op.getLocalQuery())
    local = form.simplify(op.getLocalQuery(), op.getLocalKey());

  // The scale multiplies both kinds of scores, before the normalizer sees them.
  bool folds = score.factor != 0 && (!local || local->factor == score.factor);
  double scale = folds ? multiplyFactors(op.scoreScale(), score.factor) : op.scoreScale();
  if (!isRepresentable(scale))
    return;
  Pair pair = form.vectorsOf(score, /*withFactor=*/!folds), localPair;
  // Vectors that are not used after all fall to the next clean-up.
  if (!keepsSign({op.getQuery(), op.getKey()}, op.scoreScale(), pair, scale))
    return;
  if (local) {
    localPair = form.vectorsOf(*local, /*withFactor=*/!folds);
    if (!keepsSign({op.getLocalQuery(), op.getLocalKey()}, op.scoreScale(), localPair, scale) ||
        !haveOneDegree(pair.first, localPair.first) ||
        !haveOneDegree(pair.second, localPair.second))
      return;
  }

  op.getQueryMutable().assign(pair.first);
  op.getKeyMutable().assign(pair.second);
  if (local) {
    op.getLocalQueryMutable().assign(localPair.first);
    op.getLocalKeyMutable().assign(localPair.second);
  }
  if (scale == 1)
    op.removeScoreScaleAttr();
  else
    op.setScoreScaleAttr(Builder(op).getF64FloatAttr(scale));
}

namespace {

struct SimplifyFeatures : polyattn::impl::SimplifyFeaturesBase<SimplifyFeatures> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    auto *dialect = context->getOrLoadDialect<PolyAttnDialect>();
    dialect->getCanonicalizationPatterns(set);
    populateFeatureRewrites(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    for (auto map : getOperation().getOps<FeatureMapOp>())
      if (failed(cleanUp(map)))
        return signalPassFailure();
    for (auto attention : getOperation().getOps<AttentionOp>()) {
      if (failed(cleanUp(attention)))
        return signalPassFailure();
      for (auto op : attention.getBody().getOps<AttendOp>()) {
        if (!needsScoresOnly(op))
          continue;
        OpBuilder builder(op);
        ScoreForm form(builder, op.getLoc());
        simplifyScores(op, form);
      }
      if (failed(cleanUp(attention)))
        return signalPassFailure();
    }
  }

  /// Folds, and computes equal vectors once: before, too, for some folds ask whether a vector has
  /// one use.
  LogicalResult cleanUp(Operation *program) {
    mergeEqual(program);
    if (failed(applyPatternsGreedily(program->getRegion(0), patterns)))
      return program->emitError("the simplification of features does not end");
    mergeEqual(program);
    return success();
  }

  void mergeEqual(Operation *program) {
    IRRewriter rewriter(program->getContext());
    DominanceInfo dominance(program);
    eliminateCommonSubExpressions(rewriter, dominance, program);
  }

  FrozenRewritePatternSet patterns;
};

} // namespace

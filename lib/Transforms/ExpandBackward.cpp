//===- ExpandBackward.cpp - the gradients of an attend as attends ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreSlopes.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/Leaves.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_EXPANDBACKWARD
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

/// Whether the features are those that the leaves have: side by side, none a product.
static bool hasFeaturesOfLeaves(const Structure &structure) {
  return structure.kind() == Structure::Kind::Vector ||
         (structure.kind() == Structure::Kind::Concat &&
          llvm::all_of(structure.parts(), hasFeaturesOfLeaves));
}

/// The mask by which keys see their queries.
static Mask reversed(Mask mask) { return mask == Mask::Causal ? Mask::Anticausal : mask; }

static bool isUsed(ResultRange gradients) {
  return llvm::any_of(gradients, [](Value gradient) { return !gradient.use_empty(); });
}

/// Whether the gradients are attends of the vectors that are there.
static LogicalResult checkExpandable(AttendBackwardOp op) {
  if (op.getInitialState() || op.getFinalGradient() || op.getFinalNormalizerGradient())
    return op.emitOpError("has no gradients as attends where there are states");
  if (op.getDecay() && !op.getDecayGradient().use_empty())
    return op.emitOpError("has no gradient of a decay as an attend");
  for (Value vector : {op.getQuery(), op.getLocalQuery()})
    if (vector && !hasScoreSlopes(vector))
      return op.emitOpError("has no gradients as attends: the slope of |score| is the sign of the "
                            "score, which is no score itself");
  return success();
}

namespace {

/// The pairs that take their scores from the same vectors, and what their leaves are given.
struct Pairs {
  Value query, key;
  OperandRange queryLeaves, keyLeaves;
  ResultRange ofQueryLeaves, ofKeyLeaves;
  bool isLocal;
};

/// The attends in place of one op.
class Expansion {
public:
  explicit Expansion(AttendBackwardOp op)
      : op(op), builder(op), dN(op.getNumeratorGradient()), v(op.getValue()) {}

  void run() {
    if (op.getDenominatorGradient()) {
      Value one = ConstantOp::create(builder, op.getLoc(), APFloat(1.0), /*width=*/1);
      dN = ConcatOp::create(builder, op.getLoc(), ValueRange{dN, op.getDenominatorGradient()});
      v = ConcatOp::create(builder, op.getLoc(), ValueRange{v, one});
    }
    Pairs pairs = {op.getQuery(),
                   op.getKey(),
                   op.getQueryLeaves(),
                   op.getKeyLeaves(),
                   op.getQueryLeafGradients(),
                   op.getKeyLeafGradients(),
                   /*isLocal=*/false};
    if (hasFeaturesOfLeaves(op.getQuery().getType().getStructure()))
      replaceByFeatures(pairs);
    else
      replaceByScores(pairs);
    if (op.getLocalQuery())
      replaceByScores({op.getLocalQuery(), op.getLocalKey(), op.getLocalQueryLeaves(),
                       op.getLocalKeyLeaves(), op.getLocalQueryLeafGradients(),
                       op.getLocalKeyLeafGradients(), /*isLocal=*/true});
    if (!op.getValueGradient().use_empty())
      op.getValueGradient().replaceAllUsesWith(attend(op.getKey(), op.getQuery(), op.getLocalKey(),
                                                      op.getLocalQuery(), op.getNumeratorGradient(),
                                                      reversed(op.getMask())));
    op.erase();
  }

private:
  Value attend(Value query, Value key, Value localQuery, Value localKey, Value value, Mask mask) {
    MLIRContext *context = op.getContext();
    NormalizerAttr none = NormalizerAttr::getNone(context);
    return AttendOp::create(builder, op.getLoc(), query, key, value, localQuery, localKey,
                            op.getDecay(), /*initial_state=*/Value(),
                            /*initial_normalizer=*/Value(), MaskAttr::get(context, mask), none,
                            op.getScoreScaleAttr(), op.getDecayFactorsAttr(), op.getGateHeadsAttr(),
                            /*grouping=*/GroupingAttr(), op.getBlockAttr(),
                            /*signed_scores=*/UnitAttr(), /*final_state=*/UnitAttr(),
                            /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr())
        .getOutput();
  }
  /// Of some of the pairs: others have the score 0.
  Value attend(const Pairs &pairs, Value query, Value key, Value value, Mask mask) {
    if (!op.getLocalQuery())
      return attend(query, key, Value(), Value(), value, mask);
    Value zero = ConstantOp::create(builder, op.getLoc(), APFloat(0.0), /*width=*/1);
    return pairs.isLocal ? attend(zero, zero, query, key, value, mask)
                         : attend(query, key, zero, zero, value, mask);
  }

  /// Attends that give the gradients of all features, as many as the leaves have.
  void replaceByFeatures(const Pairs &pairs) {
    if (isUsed(pairs.ofQueryLeaves))
      replaceLeaves(pairs.query, pairs.queryLeaves, pairs.ofQueryLeaves,
                    attend(pairs, dN, v, pairs.key, op.getMask()));
    if (isUsed(pairs.ofKeyLeaves))
      replaceLeaves(pairs.key, pairs.keyLeaves, pairs.ofKeyLeaves,
                    attend(pairs, v, dN, pairs.query, reversed(op.getMask())));
  }

  /// Attends that give the gradient of a leaf, weighted by the slope of the score in that of the
  /// leaf and its partner.
  void replaceByScores(const Pairs &pairs) {
    llvm::DenseMap<Value, SmallVector<Value>> terms; // of a result
    auto result = [](OperandRange leaves, ResultRange results, Value leaf) -> Value {
      auto it = llvm::find(leaves, leaf);
      return it == leaves.end() ? Value() : Value(results[it - leaves.begin()]);
    };
    for (const ScoreSlope &slope : scoreSlopes(builder, op.getLoc(), pairs.query, pairs.key)) {
      Value rows = times(slope.slopeQuery, dN, slope.factor), columns = times(slope.slopeKey, v, 1);
      Value ofQuery = result(pairs.queryLeaves, pairs.ofQueryLeaves, slope.query);
      Value ofKey = result(pairs.keyLeaves, pairs.ofKeyLeaves, slope.key);
      if (ofQuery && !ofQuery.use_empty())
        terms[ofQuery].push_back(attend(pairs, rows, columns, slope.key, op.getMask()));
      if (ofKey && !ofKey.use_empty())
        terms[ofKey].push_back(attend(pairs, columns, rows, slope.query, reversed(op.getMask())));
    }
    for (auto &[gradient, summands] : terms)
      gradient.replaceAllUsesWith(
          summands.size() == 1 ? summands[0] : AddOp::create(builder, op.getLoc(), summands));
  }

  /// The vector whose scores are `factor` times those of both.
  Value times(Value slope, Value vector, double factor) {
    if (slope)
      vector = TensorOp::create(builder, op.getLoc(), ValueRange{slope, vector});
    return factor == 1 ? vector
                       : ScaleOp::create(builder, op.getLoc(), vector, APFloat(factor)).getResult();
  }

  /// Hands the gradient of features on to the leaves, by the rules of the ops between.
  void replaceLeaves(Value features, OperandRange leaves, ResultRange gradients, Value gradient) {
    llvm::SetVector<Value> under;
    under.insert(features);
    for (size_t next = 0; next < under.size(); ++next)
      for (Value part : partsOf(under[next]))
        under.insert(part);
    SmallVector<Operation *> ops;
    for (Value vector : under)
      if (!partsOf(vector).empty())
        ops.push_back(vector.getDefiningOp());
    llvm::sort(ops, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
    GradientBuilder rules(builder, [&](Value vector) { return under.contains(vector); });
    rules.setLocation(op.getLoc());
    rules.addTo(features, gradient);
    for (Operation *inner : ops)
      rules.visit(inner);
    for (auto [leaf, result] : llvm::zip(leaves, gradients))
      result.replaceAllUsesWith(rules.gradientOf(leaf));
  }

  AttendBackwardOp op;
  OpBuilder builder;
  Value dN, v; // with those of the denominator
};

struct ExpandBackward : polyattn::impl::ExpandBackwardBase<ExpandBackward> {
  void runOnOperation() override {
    SmallVector<AttendBackwardOp> ops;
    getOperation().walk([&](AttendBackwardOp op) { ops.push_back(op); });
    for (AttendBackwardOp op : ops) {
      if (failed(checkExpandable(op)))
        return signalPassFailure();
      Expansion(op).run();
    }
  }
};

} // namespace

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

static bool hasStates(AttendBackwardOp op) {
  return op.getInitialState() || op.getFinalGradient() || op.getFinalNormalizerGradient();
}

/// The gradients of so many features can be formed for a position.
static constexpr int64_t kMaxFeatures = 8192;

/// Whether the gradients are attends of the vectors that are there.
static LogicalResult checkExpandable(AttendBackwardOp op) {
  int64_t width = op.getKey().getType().getWidth();
  if (hasStates(op) && width > kMaxFeatures)
    return op.emitOpError("has no gradients as attends where a state of ")
           << width << " features is given or asked for: those of all features are formed, and the "
           << "limit is " << kMaxFeatures;
  if (op.getDecay() && !op.getDecayGradient().use_empty())
    return op.emitOpError("has no gradient of a decay as an attend");
  for (Value vector : {op.getQuery(), op.getLocalQuery()})
    if (vector && !hasScoreSlopes(vector))
      return op.emitOpError("has no gradients as attends: the slope of |score| is the sign of the "
                            "score, which is no score itself");
  return success();
}

namespace {

/// Whose gradient an attend gives.
enum class Side { Queries, Keys };

/// The pairs that take their scores from the same vectors, and what their leaves are given.
struct Pairs {
  Value query, key;
  OperandRange queryLeaves, keyLeaves;
  ResultRange ofQueryLeaves, ofKeyLeaves;
  bool isLocal;
};

/// The states of an attend beside its vectors.
struct States {
  Value initial;
  bool isTransposed = false;
  bool wantsFinal = false;
};

/// The attends in place of one op.
class Expansion {
public:
  explicit Expansion(AttendBackwardOp op)
      : op(op), builder(op), dN(op.getNumeratorGradient()), dZ(op.getDenominatorGradient()) {}

  void run() {
    if (hasStates(op))
      moveScaleToRows();
    appendDenominator();
    Pairs pairs = {op.getQuery(),
                   op.getKey(),
                   op.getQueryLeaves(),
                   op.getKeyLeaves(),
                   op.getQueryLeafGradients(),
                   op.getKeyLeafGradients(),
                   /*isLocal=*/false};
    if (hasStates(op) || hasFeaturesOfLeaves(op.getQuery().getType().getStructure()))
      replaceByFeatures(pairs);
    else
      replaceByScores(pairs);
    if (op.getLocalQuery())
      replaceByScores({op.getLocalQuery(), op.getLocalKey(), op.getLocalQueryLeaves(),
                       op.getLocalKeyLeaves(), op.getLocalQueryLeafGradients(),
                       op.getLocalKeyLeafGradients(), /*isLocal=*/true});
    replaceValueAndState(op.getValueGradient(), op.getInitialStateGradient(), dN,
                         op.getFinalGradient());
    replaceValueAndState(Value(), op.getInitialNormalizerGradient(), dZ,
                         op.getFinalNormalizerGradient());
    op.erase();
  }

private:
  /// States are not scaled, scores are: dN and dZ take the factor in place of the scores.
  void moveScaleToRows() {
    double factor = op.scoreScale();
    dN = times(Value(), dN, factor);
    dZ = dZ ? times(Value(), dZ, factor) : Value();
    op.removeScoreScaleAttr();
  }
  void appendDenominator() {
    rows = dN;
    columns = op.getValue();
    if (!dZ)
      return;
    one = ConstantOp::create(builder, op.getLoc(), APFloat(1.0), /*width=*/1);
    rows = ConcatOp::create(builder, op.getLoc(), ValueRange{dN, dZ});
    columns = ConcatOp::create(builder, op.getLoc(), ValueRange{columns, one});
  }

  /// Whether keys may have fewer heads than queries. A state belongs to one head of both.
  bool isGrouped() { return op.getGrouping() && !hasStates(op); }

  AttendOp attend(Value query, Value key, Value localQuery, Value localKey, Value value, Side side,
                  const States &states) {
    MLIRContext *context = op.getContext();
    bool ofKeys = side == Side::Keys;
    Mask mask = ofKeys ? reversed(op.getMask()) : op.getMask();
    auto flag = [&](bool isSet) { return isSet ? UnitAttr::get(context) : UnitAttr(); };
    return AttendOp::create(builder, op.getLoc(), query, key, value, localQuery, localKey,
                            op.getDecay(), states.initial, /*initial_normalizer=*/Value(),
                            MaskAttr::get(context, mask), NormalizerAttr::getNone(context),
                            op.getScoreScaleAttr(), op.getDecayFactorsAttr(), op.getGateHeadsAttr(),
                            isGrouped() ? op.getGroupingAttr() : GroupingAttr(), op.getBlockAttr(),
                            /*signed_scores=*/UnitAttr(),
                            flag(states.initial && states.isTransposed), flag(states.wantsFinal),
                            /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr(),
                            flag(ofKeys && isGrouped()));
  }
  /// Of some of the pairs: others have the score 0.
  Value attend(const Pairs &pairs, Value query, Value key, Value value, Side side,
               const States &states = {}) {
    if (!op.getLocalQuery())
      return attend(query, key, Value(), Value(), value, side, states).getOutput();
    Value zero = ConstantOp::create(builder, op.getLoc(), APFloat(0.0), /*width=*/1);
    AttendOp some = pairs.isLocal ? attend(zero, zero, query, key, value, side, states)
                                  : attend(query, key, zero, zero, value, side, states);
    return some.getOutput();
  }

  /// Attends that give the gradients of all features, as many as the leaves have.
  void replaceByFeatures(const Pairs &pairs) {
    if (isUsed(pairs.ofQueryLeaves))
      replaceLeaves(
          pairs.query, pairs.queryLeaves, pairs.ofQueryLeaves,
          throughState(pairs, /*ofQuery=*/true, op.getInitialState(), op.getInitialNormalizer()));
    if (isUsed(pairs.ofKeyLeaves))
      replaceLeaves(pairs.key, pairs.keyLeaves, pairs.ofKeyLeaves,
                    throughState(pairs, /*ofQuery=*/false, op.getFinalGradient(),
                                 op.getFinalNormalizerGradient()));
  }
  /// The gradient of all features of one side. What they meet in a state that is a tensor stands
  /// there transposed, the rows of the denominator in a tensor of its own.
  Value throughState(const Pairs &pairs, bool ofQuery, Value state, Value normalizer) {
    auto attendOf = [&](Value row, Value column, Value initial) {
      States states{initial, /*isTransposed=*/true};
      return ofQuery ? attend(pairs, row, column, pairs.key, Side::Queries, states)
                     : attend(pairs, column, row, pairs.query, Side::Keys, states);
    };
    if (!state && !normalizer)
      return attendOf(rows, columns, Value());
    Value gradient = attendOf(dN, op.getValue(), state);
    if (!dZ)
      return gradient;
    return AddOp::create(builder, op.getLoc(), ValueRange{gradient, attendOf(dZ, one, normalizer)});
  }

  /// The gradient of what pairs add up, that with `row` as their weight, and of the state that it
  /// began with: the one that the keys' sweep leaves. Nothing of what is null is asked for.
  void replaceValueAndState(Value ofValue, Value ofState, Value row, Value finalGradient) {
    bool wantsValue = ofValue && !ofValue.use_empty(), wantsState = ofState && !ofState.use_empty();
    if (!wantsValue && !wantsState)
      return;
    States states{finalGradient, /*isTransposed=*/false, wantsState};
    AttendOp sums = attend(op.getKey(), op.getQuery(), op.getLocalKey(), op.getLocalQuery(), row,
                           Side::Keys, states);
    if (wantsValue)
      ofValue.replaceAllUsesWith(sums.getOutput());
    if (wantsState)
      ofState.replaceAllUsesWith(sums.getFinalStates()[0]);
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
      Value weighted = times(slope.slopeQuery, rows, slope.factor);
      Value partners = times(slope.slopeKey, columns, 1);
      Value ofQuery = result(pairs.queryLeaves, pairs.ofQueryLeaves, slope.query);
      Value ofKey = result(pairs.keyLeaves, pairs.ofKeyLeaves, slope.key);
      if (ofQuery && !ofQuery.use_empty())
        terms[ofQuery].push_back(attend(pairs, weighted, partners, slope.key, Side::Queries));
      if (ofKey && !ofKey.use_empty())
        terms[ofKey].push_back(attend(pairs, partners, weighted, slope.query, Side::Keys));
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
  Value dN, dZ;        // of a row; dZ is null without a denominator
  Value one;           // what dZ meets
  Value rows, columns; // [dN, dZ] and [v, 1]
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

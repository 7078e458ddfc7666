//===- ExpandBackward.cpp - the gradients of an attend as attends ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreSlopes.h"
#include "dialects/PolyAttn/FeatureFacts.h"
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

/// The mask by which keys see their queries.
static Mask reversed(Mask mask) {
  switch (mask) {
  case Mask::Causal:
    return Mask::Anticausal;
  case Mask::Anticausal:
    return Mask::Causal;
  case Mask::Full:
    return Mask::Full;
  }
  llvm_unreachable("a mask without a reverse");
}

static bool isUsed(ResultRange gradients) {
  return llvm::any_of(gradients, [](Value gradient) { return !gradient.use_empty(); });
}

static bool hasStates(AttendBackwardOp op) {
  return op.getInitialState() || op.getFinalGradient() || op.getFinalNormalizerGradient();
}

/// The gradients of so many features can be formed for a position.
static constexpr int64_t kMaxFeatures = 8192;
/// Slopes have the parts of their score, those of an odd magnitude twice, and rows as a factor.
static constexpr size_t kMaxCode = FeatureType::kMaxCode / 2 - 64;

/// Whether the gradients are attends of the vectors that are there.
static LogicalResult checkExpandable(AttendBackwardOp op) {
  int64_t width = op.getKey().getType().getWidth();
  bool wantsLeaves = isUsed(op.getQueryLeafGradients()) || isUsed(op.getKeyLeafGradients());
  if (hasStates(op) && wantsLeaves && width > kMaxFeatures)
    return op.emitOpError("has no gradients as attends where a state of ")
           << width << " features is given or asked for: those of all features are formed, and the "
           << "limit is " << kMaxFeatures;
  for (Value vector : {op.getQuery(), op.getLocalQuery()}) {
    if (vector && cast<FeatureType>(vector.getType()).getCode().size() > kMaxCode)
      return op.emitOpError("has no gradients as attends: its scores have too many parts");
    if (vector && !hasScoreSlopes(vector))
      return op.emitOpError("has no gradients as attends: the slope of |score| is the sign of the "
                            "score, which is no score itself");
  }
  return success();
}

namespace {

/// Whether the decay's gradient is asked for.
bool wantsDecay(AttendBackwardOp op) {
  Value gradient = op.getDecayGradient();
  return gradient && !gradient.use_empty();
}

/// Whose gradient an attend gives.
enum class Side { Queries, Keys };

/// The pairs that take their scores from the same vectors, and what their leaves are given.
struct Pairs {
  Value query, key;
  OperandRange queryLeaves, keyLeaves;
  ResultRange ofQueryLeaves, ofKeyLeaves;
  bool isLocal;
};

/// What pairs add up, with the state before and the gradient of the one after: of the numerator,
/// or of the denominator.
struct Sums {
  Value row, column; // dN and v, or dZ and 1
  Value initial, finalGradient, ofInitial;
};

/// The states of an attend beside its vectors.
struct States {
  Value initial;
  bool isTransposed = false;
  bool wantsFinal = false;
  Value afterBlocks = {}; // those that the forward call has kept
};

/// The attends in place of one op.
class Expansion {
public:
  explicit Expansion(AttendBackwardOp op)
      : op(op), builder(op), dN(op.getNumeratorGradient()), dZ(op.getDenominatorGradient()) {}

  void run() {
    queryGradientsGiveProducts = wantsDecay(op) && !op.getLocalQuery() && !needsFinalState() &&
                                 isUsed(op.getQueryLeafGradients()) && isPlain(op.getQuery());
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
    if (hasStates(op) || isPlain(op.getQuery()))
      replaceByFeatures(pairs);
    else
      replaceByScores(pairs);
    if (op.getLocalQuery())
      replaceByScores({op.getLocalQuery(), op.getLocalKey(), op.getLocalQueryLeaves(),
                       op.getLocalKeyLeaves(), op.getLocalQueryLeafGradients(),
                       op.getLocalKeyLeafGradients(), /*isLocal=*/true});
    replaceValueAndState(
        {dN, value, op.getInitialState(), op.getFinalGradient(), op.getInitialStateGradient()},
        op.getValueGradient());
    if (dZ && hasStates(op))
      replaceValueAndState({dZ, one, op.getInitialNormalizer(), op.getFinalNormalizerGradient(),
                            op.getInitialNormalizerGradient()},
                           Value());
    if (wantsDecay(op))
      replaceDecay();
    op.erase();
  }

private:
  /// Whether a vector's features are those of its leaves.
  static bool isPlain(Value vector) {
    return hasFeaturesOfLeaves(cast<FeatureType>(vector.getType()).getStructure()) &&
           !lacksFeatures(vector);
  }
  bool isAnticausal() { return op.getMask() == Mask::Anticausal; }
  /// Whether the decay's gradient is made of the state that the forward attend ends with: under the
  /// anticausal mask that one is before the first position.
  bool needsFinalState() {
    return wantsDecay(op) && isAnticausal() &&
           (op.getFinalGradient() || op.getFinalNormalizerGradient());
  }

  /// States are not scaled, scores are: dN and dZ take the factor in place of the scores.
  void moveScaleToRows() {
    double factor = op.scoreScale();
    dN = times(Value(), dN, factor);
    dZ = dZ ? times(Value(), dZ, factor) : Value();
    op.removeScoreScaleAttr();
  }
  /// The vector itself, or its features side by side: they become the key of gradients, which have
  /// the structure of none.
  Value plain(Value vector) {
    auto type = cast<FeatureType>(vector.getType());
    if (type.getStructure().kind() == Structure::Kind::Vector)
      return vector;
    return SelectOp::create(builder, op.getLoc(), vector,
                            llvm::to_vector(llvm::seq<int64_t>(0, type.getWidth())));
  }
  void appendDenominator() {
    rows = dN;
    value = plain(op.getValue());
    columns = value;
    if (!dZ)
      return;
    one = ConstantOp::create(builder, op.getLoc(), APFloat(1.0), /*width=*/1);
    rows = ConcatOp::create(builder, op.getLoc(), ValueRange{dN, dZ});
    columns = ConcatOp::create(builder, op.getLoc(), ValueRange{columns, one});
  }

  /// Whether keys may have fewer heads than queries.
  bool isGrouped() { return bool(op.getGrouping()); }
  /// Whether they may, or have other positions, which the full mask allows.
  bool hasOwnSides() { return isGrouped() || op.getMask() == Mask::Full; }

  /// `products`, if it is not null, is what the sums of rows are multiplied by.
  AttendOp attend(Value query, Value key, Value localQuery, Value localKey, Value value, Side side,
                  const States &states, Value products = {}) {
    MLIRContext *context = op.getContext();
    bool ofKeys = side == Side::Keys;
    Mask mask = ofKeys ? reversed(op.getMask()) : op.getMask();
    auto flag = [&](bool isSet) { return isSet ? UnitAttr::get(context) : UnitAttr(); };
    return AttendOp::create(
        builder, op.getLoc(), query, key, value, localQuery, localKey, op.getDecay(),
        states.initial, /*initial_normalizer=*/Value(), states.afterBlocks, products,
        /*state=*/Value(), MaskAttr::get(context, mask), NormalizerAttr::getNone(context),
        op.getScoreScaleAttr(), op.getDecayFactorsAttr(), op.getGateHeadsAttr(),
        isGrouped() ? op.getGroupingAttr() : GroupingAttr(), op.getBlockAttr(),
        /*signed_scores=*/UnitAttr(), flag(states.initial && states.isTransposed),
        flag(states.wantsFinal),
        /*factors=*/UnitAttr(), /*schedule=*/ScheduleAttr(), flag(ofKeys && hasOwnSides()),
        states.afterBlocks ? op.getStateEveryAttr() : IntegerAttr(), op.getWindowAttr(),
        op.getSlidingAttr(), op.getPrecisionAttr());
  }
  /// An attend of some of the pairs: others have the score 0.
  Value attend(const Pairs &pairs, Value query, Value key, Value value, Side side,
               const States &states = {}, Value products = {}) {
    if (!op.getLocalQuery()) {
      AttendOp all = attend(query, key, Value(), Value(), value, side, states, products);
      if (products)
        queryProducts.push_back(all.getRowProducts());
      return all.getOutput();
    }
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
      if (!ofQuery)
        return attend(pairs, column, row, pairs.query, Side::Keys, states);
      states.afterBlocks = op.getBlockStates();
      return attend(pairs, row, column, pairs.key, Side::Queries, states,
                    queryGradientsGiveProducts ? pairs.query : Value());
    };
    if (!state && !normalizer)
      return attendOf(rows, columns, Value());
    Value gradient = attendOf(dN, value, state);
    if (!dZ)
      return gradient;
    return AddOp::create(builder, op.getLoc(), ValueRange{gradient, attendOf(dZ, one, normalizer)});
  }

  /// The gradient of what pairs add up, that with the rows as their weights, and of the state that
  /// it began with: the one that the keys' sweep leaves. Nothing of what is null is asked for. A
  /// decay takes the sums' products with the columns, and so those of the denominator, which have
  /// attends of their own where there are states.
  void replaceValueAndState(Sums sums, Value ofValue) {
    bool wantsValue = ofValue && !ofValue.use_empty();
    bool wantsState = sums.ofInitial && !sums.ofInitial.use_empty();
    bool hasProducts = wantsDecay(op), isWhole = hasProducts && !hasStates(op);
    if (!wantsValue && !wantsState && !hasProducts)
      return;
    bool startsFromInitial = hasProducts && sums.initial && !isAnticausal();
    States states{sums.finalGradient, /*isTransposed=*/false, wantsState || startsFromInitial};
    Value row = isWhole ? rows : sums.row, column = isWhole ? columns : sums.column;
    AttendOp attended = attend(op.getKey(), op.getQuery(), op.getLocalKey(), op.getLocalQuery(),
                               row, Side::Keys, states, hasProducts ? column : Value());
    if (wantsValue)
      ofValue.replaceAllUsesWith(firstOf(attended.getOutput(), sums.row));
    if (wantsState)
      sums.ofInitial.replaceAllUsesWith(attended.getFinalStates()[0]);
    if (!hasProducts)
      return;
    keyProducts.push_back(attended.getRowProducts());
    if (!queryGradientsGiveProducts)
      addQueryProducts(row, column, sums);
    if (startsFromInitial)
      addStateBefore(sums.initial, attended);
  }
  /// The pairs that pass the first gate: of a state before it, and what an attend ends with there.
  void addStateBefore(Value state, AttendOp attended) {
    statesBefore.push_back(state);
    statesOfSweep.push_back(attended.getFinalStates()[0]);
  }
  /// The elements of a vector that stand where those of `like` do.
  Value firstOf(Value vector, Value like) {
    int64_t width = cast<FeatureType>(like.getType()).getWidth();
    if (cast<FeatureType>(vector.getType()).getWidth() == width)
      return vector;
    return SelectOp::create(builder, op.getLoc(), vector,
                            llvm::to_vector(llvm::seq<int64_t>(0, width)));
  }

  /// The sums that the forward attend has, times their gradients.
  void addQueryProducts(Value row, Value column, const Sums &sums) {
    bool endsBefore = isAnticausal() && sums.finalGradient;
    AttendOp attended =
        attend(op.getQuery(), op.getKey(), op.getLocalQuery(), op.getLocalKey(), column,
               Side::Queries, {sums.initial, /*isTransposed=*/false, endsBefore}, /*products=*/row);
    queryProducts.push_back(attended.getRowProducts());
    if (endsBefore)
      addStateBefore(sums.finalGradient, attended);
  }

  /// The gradient of the decay, from the products of the attends before. A gate stands between the
  /// keys before it and the queries after it, with the anticausal mask the other way round.
  void replaceDecay() {
    if (isAnticausal())
      std::swap(queryProducts, keyProducts);
    auto gradient = DecayGradientOp::create(builder, op.getLoc(), op.getDecay(), queryProducts,
                                            keyProducts, statesBefore, statesOfSweep,
                                            /*plus=*/Value(), op.getGateHeadsAttr(),
                                            isGrouped() ? op.getGroupingAttr() : GroupingAttr());
    op.getDecayGradient().replaceAllUsesWith(gradient.getResult());
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
      if (slope.query.getDefiningOp<RelativeOp>())
        continue; // a score without vectors
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
  Value value;         // a plain vector
  Value rows, columns; // [dN, dZ] and [v, 1]
  /// Whether the gradient of the query's features, times these, gives what a decay takes of rows
  /// of queries: it has all of their pairs, and no more elements than the vectors that are there.
  bool queryGradientsGiveProducts = false;
  // What the decay's gradient is made of.
  SmallVector<Value> queryProducts, keyProducts, statesBefore, statesOfSweep;
};

/// One gradient of a decay in place of a sum of several: it is made of all their products. Those of
/// a state are final states, and stay a sum.
void mergeSum(AddGradientsOp sum) {
  if (sum.getGradients().front().getDefiningOp<AttendOp>()) {
    // They have their last dimension, even where the state that is given has none.
    sum.getResult().setType(cast<RankedTensorType>(sum.getGradients().front().getType()));
    return;
  }
  SmallVector<Value> queries, keys, states, stateGradients;
  DecayGradientOp first;
  for (Value term : sum.getGradients()) {
    auto gradient = term.getDefiningOp<DecayGradientOp>();
    first = first ? first : gradient;
    llvm::append_range(queries, gradient.getQueries());
    llvm::append_range(keys, gradient.getKeys());
    llvm::append_range(states, gradient.getStates());
    llvm::append_range(stateGradients, gradient.getStateGradients());
  }
  OpBuilder builder(sum);
  auto merged = DecayGradientOp::create(builder, sum.getLoc(), first.getDecay(), queries, keys,
                                        states, stateGradients, /*plus=*/Value(),
                                        first.getGateHeadsAttr(), first.getGroupingAttr());
  SmallVector<Value> terms(sum.getGradients());
  sum.replaceAllUsesWith(merged.getResult());
  sum.erase();
  for (Value term : terms)
    if (term.use_empty())
      term.getDefiningOp()->erase();
}

struct ExpandBackward : polyattn::impl::ExpandBackwardBase<ExpandBackward> {
  void runOnOperation() override {
    SmallVector<AttendBackwardOp> ops;
    getOperation().walk([&](AttendBackwardOp op) { ops.push_back(op); });
    for (AttendBackwardOp op : ops) {
      if (failed(checkExpandable(op)))
        return signalPassFailure();
      Expansion(op).run();
    }
    SmallVector<AddGradientsOp> sums;
    getOperation().walk([&](AddGradientsOp sum) { sums.push_back(sum); });
    for (AddGradientsOp sum : sums)
      mergeSum(sum);
  }
};

} // namespace

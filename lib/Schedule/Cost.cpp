//===- Cost.cpp - floating-point operations that an attention needs -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Cost.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Leaves.h"
#include "dialects/PolyAttn/Sides.h"
#include "polyattn/Schedule/ContractedState.h"
#include "polyattn/Schedule/Windows.h"

using namespace mlir;
using namespace polyattn;

static FeatureMapOp mapOf(ApplyOp apply) {
  return SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
}

static int64_t widthOf(Value value) { return cast<FeatureType>(value.getType()).getWidth(); }

/// The op that gives a vector, inside the map where a map is applied.
static Operation *definition(Value value) {
  while (auto apply = value.getDefiningOp<ApplyOp>())
    value = mapOf(apply).getFeatures();
  return value.getDefiningOp();
}

/// The factors of a tensor product where they are one vector, repeated: a power.
static bool isSelfProduct(Operation *op) {
  return isa<TensorOp>(op) && llvm::all_equal(op->getOperands());
}

/// C(n + p - 1, p): a symmetric power.
static int64_t symmetricWidth(int64_t width, int64_t degree) {
  return width >= Structure::kHuge - degree ? Structure::kHuge
                                            : binomial(width + degree - 1, degree);
}

int64_t polyattn::cheapestWidth(Value features) {
  Operation *op = definition(features);
  if (auto power = dyn_cast_or_null<PowerOp>(op))
    return symmetricWidth(cheapestWidth(power.getInput()), power.getDegree());
  if (auto scale = dyn_cast_or_null<ScaleOp>(op))
    return cheapestWidth(scale.getInput());
  if (op && isSelfProduct(op))
    return symmetricWidth(cheapestWidth(op->getOperand(0)), op->getNumOperands());
  if (!isa_and_nonnull<TensorOp, ConcatOp>(op))
    return widthOf(features);
  int64_t width = isa<TensorOp>(op) ? 1 : 0;
  for (Value operand : op->getOperands())
    width = isa<TensorOp>(op) ? saturatingMul(width, cheapestWidth(operand))
                              : saturatingAdd(width, cheapestWidth(operand));
  return width;
}

/// One operation per product that is formed, each once.
static double expansionFlops(Value features, llvm::DenseSet<Operation *> &seen) {
  Operation *op = definition(features);
  if (!op || !op->hasTrait<CombinesScores>() || !seen.insert(op).second)
    return 0;
  bool products = isa<PowerOp>(op) || (isa<TensorOp>(op) && op->getNumOperands() > 1);
  double flops = products ? double(cheapestWidth(op->getResult(0))) : 0;
  for (Value operand : op->getOperands()) {
    flops += expansionFlops(operand, seen);
    if (isSelfProduct(op))
      break;
  }
  return flops;
}

static double expansionFlops(Value features) {
  llvm::DenseSet<Operation *> seen;
  return expansionFlops(features, seen);
}

/// What an op is computed from: a projection of a projection is one where that is less.
static OperandRange operandsOf(Operation *op) {
  auto project = dyn_cast<ProjectOp>(op);
  ProjectOp merged = project ? mergeableInput(project) : ProjectOp();
  return merged ? merged->getOperands() : op->getOperands();
}

namespace {
/// Sums over the ops that a vector needs, each once however often it is used.
struct ProgramCounter {
  llvm::DenseSet<Operation *> seen;
  double flops = 0, functions = 0; // the elements that are functions like exp

  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (!isa<FeatureType>(value.getType()) || !op || isa<AttendOp, AttendBackwardOp>(op) ||
        !seen.insert(op).second)
      return;
    for (Value operand : operandsOf(op))
      visit(operand);
    if (auto apply = dyn_cast<ApplyOp>(op)) {
      // A map applied twice to different vectors works twice.
      ProgramCounter inner;
      inner.visit(mapOf(apply).getFeatures());
      flops += inner.flops;
      functions += inner.functions;
      return;
    }
    auto feature = dyn_cast<FeatureOpInterface>(op);
    if (!feature)
      return;
    FeatureCost cost = feature.getCost();
    flops += cost.flops;
    functions += cost.functions;
    // An op that needs values, not a structure, expands its operands.
    if (!op->hasTrait<CombinesScores>())
      for (Value operand : operandsOf(op))
        if (isa<FeatureType>(operand.getType()))
          flops += expansionFlops(operand);
  }
};
} // namespace

double polyattn::programFlops(Value features) {
  ProgramCounter counter;
  counter.visit(features);
  return counter.flops;
}

double polyattn::programMultiplyAdds(Value features) {
  if (!features)
    return 0;
  ProgramCounter counter;
  counter.visit(features);
  return counter.flops / 2 + 20 * counter.functions;
}

/// Pairs (i, j), j <= i, of one block: whole blocks and the last, shorter one.
static double trianglePairs(double tokens, double block) {
  double whole = std::floor(tokens / block), rest = tokens - whole * block;
  return whole * block * (block + 1) / 2 + rest * (rest + 1) / 2;
}

/// Pairs (i, j) with j >= i + reach, of `rows` numbers i and `columns` numbers j.
static double pairsFrom(double reach, double rows, double columns) {
  double first = std::max(columns - reach, 0.0),
         count = std::min(rows, first); // first + (first - 1) ...
  return count * first - count * (count - 1) / 2;
}

/// The pairs that an attend's mask and window leave.
static double visiblePairs(AttendOp attend, double queries, double keys) {
  double all = attend.isOrdered() ? trianglePairs(queries, queries ? queries : 1) : queries * keys;
  std::optional<int64_t> given = windowOf(attend);
  if (!given)
    return all;
  auto window = double(*given);
  if (attend.isOrdered())
    return all - pairsFrom(window, queries, queries);
  return all - pairsFrom(window, queries, keys) - pairsFrom(window, keys, queries);
}

namespace {
/// The inner products of a score, each once however often its polynomial has it.
struct LeafPairs {
  /// A vector inside maps that are applied one in another, and outside of all of them in the end.
  struct Place {
    Value value;
    SmallVector<ApplyOp> maps;

    /// Where the vector is computed: not a map's argument or result.
    Place definition() const {
      Place place = *this;
      while (true) {
        place.value = withoutScales(place.value);
        if (auto apply = place.value.getDefiningOp<ApplyOp>()) {
          place.maps.push_back(apply);
          place.value = mapOf(apply).getFeatures();
          continue;
        }
        auto argument = dyn_cast<BlockArgument>(place.value);
        if (!argument || place.maps.empty())
          return place;
        place.value = place.maps.pop_back_val()->getOperand(argument.getArgNumber());
      }
    }
    Place operand(unsigned i) const { return {value.getDefiningOp()->getOperand(i), maps}; }
    bool operator==(const Place &other) const { return value == other.value && maps == other.maps; }
  };
  SmallVector<std::pair<Place, Place>> seen;
  int64_t width = 0;

  void visit(Place query, Place key) {
    // A map may be applied to a tensor, which stands for the vectors in it.
    int64_t leafWidth = widthOf(query.value);
    query = query.definition(), key = key.definition();
    Operation *q = query.value.getDefiningOp(), *k = key.value.getDefiningOp();
    bool alike = q && k && q->getName() == k->getName() &&
                 TypeRange(q->getOperandTypes()) == TypeRange(k->getOperandTypes());
    if (llvm::is_contained(seen, std::pair(query, key)))
      return;
    seen.push_back({query, key});
    if (alike && isa<ConstantOp>(q))
      return;
    if (alike && isa<PowerOp, TensorOp, ConcatOp, ExpScoreOp>(q)) {
      for (unsigned i = 0; i < q->getNumOperands(); ++i)
        visit(query.operand(i), key.operand(i));
      return;
    }
    width += leafWidth;
  }
};
} // namespace

int64_t polyattn::scoreLeafWidth(Value query, Value key) {
  LeafPairs leaves;
  leaves.visit({query, {}}, {key, {}});
  return std::min(leaves.width, widthOf(query));
}

static double pairFlops(Value query, Value key, double valueWidth) {
  return 2.0 * scoreLeafWidth(query, key) + 2 * valueWidth;
}

namespace {
/// The numbers of a state, and the operations that form features of a query and of a key.
struct StateSize {
  double numbers, perQuery, perKey;

  /// A symmetric state has each of its numbers once. A query contracts what it reads: two
  /// multiply-adds for each pair.
  static StateSize of(AttendOp attend, int64_t width) {
    StateSize size{double(width) * widthOf(attend.getValue()), expansionFlops(attend.getQuery()),
                   expansionFlops(attend.getKey())};
    if (std::optional<ContractedState> state = ContractedState::of(attend)) {
      double pairs = state->features(), numbers = pairs * state->width();
      if (numbers < size.numbers)
        return {numbers, 4 * pairs, pairs};
    }
    return size;
  }
};
} // namespace

/// The vectors that a concatenation stacks, or the vector itself.
static SmallVector<Value> stackedIn(Value vector) {
  if (auto concat = vector.getDefiningOp<ConcatOp>())
    return llvm::to_vector(concat.getInputs());
  return {vector};
}

/// The features of `square` where `other` keeps their sums: in a state that is symmetric, of
/// squares of what these are squares of, and with the attend's values in the rows.
static double squaresKeptBy(AttendOp attend, Value square, AttendOp other) {
  auto power = withoutScales(square).getDefiningOp<PowerOp>();
  std::optional<ContractedState> state = ContractedState::of(other);
  return power && power.getDegree() == 2 && state &&
                 state->keyFactor == withoutScales(power.getInput()) &&
                 withoutScales(attend.getValue()) == withoutScales(stackedIn(state->column)[0])
             ? double(cheapestWidth(square))
             : 0;
}

/// How many of an attend's features another one sums over the same values: squares, of which a
/// symmetric state has each number once, or the first ones, which are the values of a later attend
/// whose features are this one's values. Gradients of keys and of values.
static double featuresKeptByAnother(AttendOp attend) {
  if (attend.getNormalizer().hasDenominator())
    return 0;
  double most = 0;
  SmallVector<Value> parts = stackedIn(attend.getKey());
  for (auto other : attend->getBlock()->getOps<AttendOp>()) {
    if (other == attend || other.getMask() != attend.getMask() ||
        other.getDecay() != attend.getDecay() ||
        other.getDecayFactors() != attend.getDecayFactors())
      continue;
    double kept = 0;
    for (Value part : parts)
      kept += squaresKeptBy(attend, part, other);
    bool isTransposed = attend->isBeforeInBlock(other) &&
                        withoutScales(other.getKey()) == withoutScales(attend.getValue()) &&
                        withoutScales(other.getValue()) == withoutScales(parts[0]);
    most = std::max(most, isTransposed ? double(widthOf(parts[0])) : kept);
  }
  return most;
}

/// Pairs, expansion and state of one attend.
static ForwardCost attendCost(AttendOp attend, const CallSizes &sizes, int64_t block) {
  double queryHeads = double(sizes.batch) * sizes.heads;
  bool statePerQuery = attend.getGateHeads() == GateHeads::Q;
  double stateHeads = statePerQuery ? queryHeads : double(sizes.batch) * sizes.kvHeads;
  // A row by lag has one number of each pair.
  double valueWidth = attend.getLagSlope() ? 1 : widthOf(attend.getValue());
  double queries = sizes.queries, keys = sizes.keys;
  bool isOrdered = attend.isOrdered();
  double onePair = pairFlops(attend.getQuery(), attend.getKey(), valueWidth);
  double localPair = attend.getLocalQuery()
                         ? pairFlops(attend.getLocalQuery(), attend.getLocalKey(), valueWidth)
                         : onePair;
  // States alone read no queries, and meet no pairs.
  bool hasRows = !givesStatesAlone(attend);
  double localPairs = 0;
  if (attend.getSliding())
    localPairs = trianglePairs(queries, queries) - pairsFrom(block, queries, queries);
  else if (isOrdered && hasRows)
    localPairs = trianglePairs(queries, block);
  double allPairs = visiblePairs(attend, queries, keys);
  localPairs = std::min(localPairs, allPairs);

  if (hasLocalPairsAlone(attend))
    allPairs = localPairs;
  ForwardCost quadratic;
  quadratic.quadratic = true;
  quadratic.pairs = queryHeads * ((allPairs - localPairs) * onePair + localPairs * localPair);

  int64_t width = std::min(cheapestWidth(attend.getQuery()), cheapestWidth(attend.getKey()));
  bool stateAsked = attend.getInitialState() || attend.getFinalState();
  if (!stateAsked && (width > AttendOp::kMaxStateWidth || !readsFeatures(attend)))
    return quadratic;

  double blocks = std::ceil(queries / block);
  double readers = !hasRows                                 ? 0
                   : !isOrdered || attend.getInitialState() ? queries
                                                            : std::max(0.0, queries - block);
  double writers = !isOrdered || attend.getFinalState() ? keys
                   : blocks > 0                         ? (blocks - 1) * block
                                                        : 0;
  ForwardCost state;
  state.pairs = queryHeads * localPairs * localPair;
  StateSize size = StateSize::of(attend, width);
  // What another attend has anyway is formed and added up once.
  double kept = featuresKeptByAnother(attend), own = std::max(0.0, 1 - kept / double(width));
  state.expansion =
      queryHeads * readers * size.perQuery + stateHeads * writers * (kept > 0 ? 0 : size.perKey);
  state.state = 2.0 * size.numbers * (queryHeads * readers + stateHeads * writers * own);
  return stateAsked || state.total() <= quadratic.total() ? state : quadratic;
}

/// The sums over positions of x dy^T, or of dy.
static double weightGradientFlops(WeightGradientOp gradient, double ofQueries, double ofKeys) {
  double flops = 0;
  for (auto [i, dy] : llvm::enumerate(gradient.getGradients())) {
    ValueRange inputs = gradient.getInputs();
    double perPosition = (inputs.empty() ? 1.0 : 2.0 * widthOf(inputs[i])) * widthOf(dy);
    flops += perPosition * (isTermOfKeys(gradient, i) ? ofKeys : ofQueries);
  }
  return flops;
}

ForwardCost polyattn::forwardCost(AttentionOp attention, const CallSizes &given, int64_t block) {
  ForwardCost cost;
  ProgramCounter querySide, keySide;
  CallSizes sizes = given;
  if (sharesHeads(attention)) // Hkv is of sequences alone
    sizes.kvHeads = sizes.heads;
  for (auto attend : attention.getBody().getOps<AttendOp>()) {
    ForwardCost one = attendCost(attend, sizes, attend.getBlock().value_or(block));
    cost.pairs += one.pairs;
    cost.expansion += one.expansion;
    cost.state += one.state;
    cost.quadratic |= one.quadratic;
    for (Value value : {attend.getQuery(), attend.getLocalQuery()})
      if (value && !givesStatesAlone(attend))
        querySide.visit(value);
    for (Value value : {attend.getKey(), attend.getLocalKey(), attend.getValue()})
      if (value)
        keySide.visit(value);
  }
  for (Value value : attention.getBody().front().getTerminator()->getOperands())
    querySide.visit(value);
  double ofQueries = double(sizes.batch) * sizes.queries * sizes.heads,
         ofKeys = double(sizes.batch) * sizes.keys * sizes.kvHeads;
  cost.programs = querySide.flops * ofQueries + keySide.flops * ofKeys;
  for (auto gradient : attention.getBody().getOps<WeightGradientOp>())
    cost.programs += weightGradientFlops(gradient, ofQueries, ofKeys);
  return cost;
}

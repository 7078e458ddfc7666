//===- FeaturelessScores.cpp - scores that no features give ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `power {abs}` with an odd degree says something of a pair of vectors, |<a, b>|^p, `exp_score`
// says exp(<a, b>), and `relative` something of a pair of positions. None says anything of one
// vector: they have no features.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureFacts.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace polyattn;

static bool isFeatureless(Operation *op) {
  auto power = dyn_cast<PowerOp>(op);
  return isa<RelativeOp, ExpScoreOp>(op) || (power && power.getAbs() && power.getDegree() % 2 != 0);
}

static StringRef nameOfFeatureless(Operation *op) {
  if (isa<RelativeOp>(op))
    return "a score by the distance of positions";
  return isa<ExpScoreOp>(op) ? "the exponential of a score" : "an odd power of |score|";
}

Operation *polyattn::findInScore(Value vector, function_ref<bool(Operation *)> isWanted) {
  SmallVector<Value> worklist = {vector};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (FeatureMapOp map = appliedMap(next))
      next = map.getFeatures();
    Operation *op = next.getDefiningOp();
    if (!op || !seen.insert(next).second)
      continue;
    if (isWanted(op))
      return op;
    if (op->hasTrait<CombinesScores>())
      llvm::append_range(worklist, op->getOperands());
  }
  return nullptr;
}

static Operation *findFeatureless(Value value) { return findInScore(value, isFeatureless); }

bool polyattn::lacksFeatures(Value value) { return findFeatureless(value); }

std::string polyattn::noFeaturesOf(Value vector) {
  Operation *op = findFeatureless(vector);
  return op ? (nameOfFeatureless(op) + " has no features").str() : "";
}

std::string polyattn::noStateOf(AttendOp attend) {
  if (attend.getNormalizer().isSoftmax())
    return "a softmax has exponentials of scores, which have no features";
  if (attend.getNormalizer().needsRowMax())
    return "with `eps_mode = row_max` the largest score of a row is not known from a state";
  if (attend.getWindow())
    return "a window leaves out keys, which a state has";
  if (attend.getLagSlope())
    return "rows by lag are not sums over keys";
  return noFeaturesOf(attend.getKey());
}

bool polyattn::isZeroVector(Value vector) {
  if (FeatureMapOp map = appliedMap(vector))
    vector = map.getFeatures();
  auto constant = vector.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().isZero();
}

bool polyattn::hasLocalPairsAlone(AttendOp attend) {
  bool isAlone = isZeroVector(attend.getQuery()) || isZeroVector(attend.getKey());
  return attend.getLocalQuery() && isAlone && !attend.hasInitialState() &&
         !attend.getFinalState() && !attend.keepsStates();
}

std::string polyattn::noRingOf(AttendOp attend) {
  // A decay multiplies up all gates between a query and a key, which no ring has.
  return attend.hasDecay() ? "a window with a decay is one of a call's own keys alone" : "";
}

/// Whether an op takes only the scores of a vector.
static bool takesScores(Operation &op, Value vector) {
  if (auto attend = dyn_cast<AttendOp>(op))
    return vector != attend.getValue();
  if (auto backward = dyn_cast<AttendBackwardOp>(op))
    return llvm::is_contained(
        {backward.getQuery(), backward.getKey(), backward.getLocalQuery(), backward.getLocalKey()},
        vector);
  return op.hasTrait<CombinesScores>() || isa<YieldOp>(op);
}

LogicalResult polyattn::verifyFeaturelessScores(Block &body) {
  llvm::DenseMap<Value, Operation *> featureless; // the op for which a vector is such
  llvm::DenseMap<Operation *, Operation *> maps;  // the same of a map's features, or null
  WalkResult result = body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    Operation *source = isFeatureless(op) ? op : nullptr;
    for (Value operand : op->getOperands()) {
      Operation *found = featureless.lookup(operand);
      if (found && !takesScores(*op, operand)) {
        op->emitOpError("C14: takes the features of ")
            << nameOfFeatureless(found) << ", which has none";
        return WalkResult::interrupt();
      }
      if (found && op->hasTrait<CombinesScores>())
        source = found;
    }
    // What `findFeatureless` says of each result, from what is known of those before it.
    for (Value result : op->getResults()) {
      if (!isa<FeatureType>(result.getType()))
        continue;
      Operation *known = source;
      if (FeatureMapOp map = appliedMap(result)) {
        auto [found, isNew] = maps.try_emplace(map, nullptr);
        if (isNew)
          found->second = findFeatureless(map.getFeatures());
        known = found->second;
      }
      if (known)
        featureless[result] = known;
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Takes off what changes a vector's score by a number only.
static Value peel(Value vector) {
  while (true) {
    if (FeatureMapOp map = appliedMap(vector))
      vector = map.getFeatures();
    else if (auto scale = vector.getDefiningOp<ScaleOp>())
      vector = scale.getInput();
    else
      return vector;
  }
}

/// What a table is read from: equal reads are one table.
static Value sourceOf(Value table) {
  auto read = table.getDefiningOp<ReadOp>();
  return read ? Value(read.getTensor()) : table;
}

/// Whether two ops of one name, of which one has no features, give one score.
static bool areAlike(Operation *query, Operation *key) {
  if (auto relative = dyn_cast<RelativeOp>(query))
    return query->getAttrDictionary() == key->getAttrDictionary() &&
           sourceOf(relative.getTable()) == sourceOf(cast<RelativeOp>(key).getTable());
  return isFeatureless(query) == isFeatureless(key);
}

bool polyattn::featurelessScoresMatch(Value query, Value key) {
  SmallVector<std::pair<Value, Value>> worklist = {{query, key}};
  llvm::DenseSet<std::pair<Value, Value>> seen;
  while (!worklist.empty()) {
    auto [left, right] = worklist.pop_back_val();
    std::pair pair(peel(left), peel(right));
    if (!seen.insert(pair).second || (!lacksFeatures(pair.first) && !lacksFeatures(pair.second)))
      continue;
    Operation *q = pair.first.getDefiningOp(), *k = pair.second.getDefiningOp();
    if (!q || !k || q->getName() != k->getName() || q->getNumOperands() != k->getNumOperands() ||
        !areAlike(q, k))
      return false;
    if (q->hasTrait<CombinesScores>())
      for (auto [a, b] : llvm::zip(q->getOperands(), k->getOperands()))
        worklist.push_back({a, b});
  }
  return true;
}

//===- AbsoluteScores.cpp - powers of |score| -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `power {abs}` with an odd degree says something of a pair of vectors, |<a, b>|^p, and nothing of
// one: it has no features.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureFacts.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace polyattn;

static bool isAbsolute(PowerOp power) { return power.getAbs() && power.getDegree() % 2 != 0; }

bool polyattn::hasAbsoluteScore(Value value) {
  SmallVector<Value> worklist = {value};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (FeatureMapOp map = appliedMap(next))
      next = map.getFeatures();
    Operation *op = next.getDefiningOp();
    if (!op || !op->hasTrait<CombinesScores>() || !seen.insert(next).second)
      continue;
    if (auto power = dyn_cast<PowerOp>(op); power && isAbsolute(power))
      return true;
    llvm::append_range(worklist, op->getOperands());
  }
  return false;
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

LogicalResult polyattn::verifyAbsoluteScores(Block &body) {
  llvm::DenseSet<Value> absolute;
  llvm::DenseMap<Operation *, bool> maps; // whether the features of a map are such
  WalkResult result = body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isTaken = false; // as a vector, not as a part of scores
    for (Value operand : op->getOperands())
      isTaken |= absolute.contains(operand) && !takesScores(*op, operand);
    if (isTaken) {
      op->emitOpError("C14: takes the features of an odd power of |score|, which has none");
      return WalkResult::interrupt();
    }
    // What `hasAbsoluteScore` says of each result, from what is known of those before it.
    auto power = dyn_cast<PowerOp>(op);
    bool combines = op->hasTrait<CombinesScores>() &&
                    ((power && isAbsolute(power)) || llvm::any_of(op->getOperands(), [&](Value v) {
                       return absolute.contains(v);
                     }));
    for (Value result : op->getResults()) {
      if (!isa<FeatureType>(result.getType()))
        continue;
      bool isAbsoluteScore = combines;
      if (FeatureMapOp map = appliedMap(result)) {
        auto [known, isNew] = maps.try_emplace(map, false);
        if (isNew)
          known->second = hasAbsoluteScore(map.getFeatures());
        isAbsoluteScore = known->second;
      }
      if (isAbsoluteScore)
        absolute.insert(result);
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

bool polyattn::absoluteScoresMatch(Value query, Value key) {
  SmallVector<std::pair<Value, Value>> worklist = {{query, key}};
  llvm::DenseSet<std::pair<Value, Value>> seen;
  while (!worklist.empty()) {
    auto [left, right] = worklist.pop_back_val();
    std::pair pair(peel(left), peel(right));
    if (!seen.insert(pair).second ||
        (!hasAbsoluteScore(pair.first) && !hasAbsoluteScore(pair.second)))
      continue;
    Operation *q = pair.first.getDefiningOp(), *k = pair.second.getDefiningOp();
    if (!q || !k || q->getName() != k->getName() || q->getNumOperands() != k->getNumOperands())
      return false;
    if (auto power = dyn_cast<PowerOp>(q);
        power && isAbsolute(power) != isAbsolute(cast<PowerOp>(k)))
      return false;
    for (auto [a, b] : llvm::zip(q->getOperands(), k->getOperands()))
      worklist.push_back({a, b});
  }
  return true;
}

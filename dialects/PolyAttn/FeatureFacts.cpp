//===- FeatureFacts.cpp - what is known of a vector of features -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureFacts.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;

/// What computes the vector, seen through `apply`: the yielded value of the map.
static Value throughApply(Value value) {
  while (auto apply = value.getDefiningOp<ApplyOp>()) {
    auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
    if (!map || map.getBody().empty())
      return value;
    value = map.getFeatures();
  }
  return value;
}

FeatureFacts polyattn::factsOf(Value value) {
  value = throughApply(value);
  Operation *op = value.getDefiningOp();
  if (!op || isa<ReadOp>(op))
    return {/*degree=*/1, /*nonNegative=*/false};
  SmallVector<FeatureFacts> inputs;
  for (Value operand : op->getOperands())
    if (isa<FeatureType>(operand.getType()))
      inputs.push_back(factsOf(operand));

  bool allNonNegative = llvm::all_of(inputs, [](auto &facts) { return facts.nonNegative; });
  auto sumOfDegrees = [&]() -> std::optional<int64_t> {
    int64_t sum = 0;
    for (const FeatureFacts &facts : inputs) {
      if (!facts.degree)
        return std::nullopt;
      sum += *facts.degree;
    }
    return sum;
  };
  auto largestDegree = [&]() -> std::optional<int64_t> {
    int64_t largest = 0;
    for (const FeatureFacts &facts : inputs) {
      if (!facts.degree)
        return std::nullopt;
      largest = std::max(largest, *facts.degree);
    }
    return largest;
  };
  // Factors that stand an even number of times are squares.
  auto othersAreSquares = [&] {
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!inputs[i].nonNegative && llvm::count(op->getOperands(), operand) % 2 != 0)
        return false;
    return true;
  };

  return llvm::TypeSwitch<Operation *, FeatureFacts>(op)
      .Case([&](ProjectOp) { return FeatureFacts{inputs[0].degree, false}; })
      .Case([&](HadamardOp) {
        return FeatureFacts{sumOfDegrees(), othersAreSquares()};
      })
      .Case([&](TensorOp) { return FeatureFacts{sumOfDegrees(), allNonNegative}; })
      .Case([&](TriuOp) { return FeatureFacts{sumOfDegrees(), allNonNegative}; })
      .Case([&](PowerOp power) {
        std::optional<int64_t> degree = inputs[0].degree;
        if (degree)
          degree = *degree * power.getDegree();
        return FeatureFacts{degree, allNonNegative};
      })
      .Case<AddOp, ConcatOp>(
          [&](auto) { return FeatureFacts{largestDegree(), allNonNegative}; })
      .Case([&](ScaleOp scale) {
        return FeatureFacts{inputs[0].degree, allNonNegative && !scale.getFactor().isNegative()};
      })
      .Case([&](ConstantOp constant) {
        return FeatureFacts{0, !constant.getValue().isNegative()};
      })
      .Case<SelectOp, L2RescaleOp, L2NormOp>(
          [&](auto) { return FeatureFacts{inputs[0].degree, inputs[0].nonNegative}; })
      .Case<LayerNormOp, RopeOp, AddVecOp, MulVecOp, DivVecOp>(
          [&](auto) { return FeatureFacts{inputs[0].degree, false}; })
      .Case([&](PowOp pow) {
        if (!pow.getExponent())
          return FeatureFacts{std::nullopt, inputs[0].nonNegative};
        double exponent = pow.getExponent()->convertToDouble();
        std::optional<int64_t> degree = inputs[0].degree;
        bool whole = exponent >= 0 && exponent == std::floor(exponent);
        bool even = whole && std::fmod(exponent, 2.0) == 0;
        if (degree)
          degree = whole ? std::optional<int64_t>(*degree * int64_t(exponent)) : std::nullopt;
        return FeatureFacts{degree, inputs[0].nonNegative || even};
      })
      .Case([&](AddConstOp add) {
        return FeatureFacts{inputs[0].degree,
                            inputs[0].nonNegative && !add.getValue().isNegative()};
      })
      .Case([&](ClampMinOp clamp) {
        return FeatureFacts{std::nullopt, inputs[0].nonNegative || !clamp.getValue().isNegative()};
      })
      .Case<ReluOp, EluPlusOneOp, ExpOp, AbsOp, SigmoidOp, SoftplusOp, SoftmaxOp>(
          [&](auto) { return FeatureFacts{std::nullopt, true}; })
      .Case([&](SquaredNormOp) {
        std::optional<int64_t> degree = inputs[0].degree;
        if (degree)
          degree = 2 * *degree;
        return FeatureFacts{degree, true};
      })
      .Case<MaxOp, SumNormOp>([&](auto) { return FeatureFacts{std::nullopt, allNonNegative}; })
      .Default([&](Operation *) { return FeatureFacts{std::nullopt, false}; });
}

bool polyattn::scoresNonNegative(Value query, Value key) {
  query = throughApply(query);
  key = throughApply(key);
  if (factsOf(query).nonNegative && factsOf(key).nonNegative)
    return true;
  // A factor may stand on one side alone.
  bool negated = false;
  for (Value *side : {&query, &key}) {
    while (auto scale = side->getDefiningOp<ScaleOp>()) {
      negated ^= scale.getFactor().isNegative();
      *side = throughApply(scale.getInput());
    }
  }
  if (negated)
    return false;
  if (factsOf(query).nonNegative && factsOf(key).nonNegative)
    return true;
  Operation *q = query.getDefiningOp(), *k = key.getDefiningOp();
  if (!q || !k || q->getName() != k->getName())
    return false;
  if (auto power = dyn_cast<PowerOp>(q))
    return power.getAbs() || power.getDegree() % 2 == 0 ||
           scoresNonNegative(power.getInput(), cast<PowerOp>(k).getInput());
  if (isa<ConcatOp, TensorOp>(q)) {
    // An even number of equal factors is a square: <a, a'>^2 >= 0.
    if (isa<TensorOp>(q) && q->getNumOperands() == 2 && q->getOperand(0) == q->getOperand(1) &&
        k->getNumOperands() == 2 && k->getOperand(0) == k->getOperand(1))
      return true;
    if (q->getNumOperands() != k->getNumOperands())
      return false;
    for (auto [a, b] : llvm::zip(q->getOperands(), k->getOperands()))
      if (!scoresNonNegative(a, b))
        return false;
    return true;
  }
  return false;
}

bool polyattn::hasAbsoluteScore(Value value) {
  value = throughApply(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto power = dyn_cast<PowerOp>(op))
    if (power.getAbs() && power.getDegree() % 2 != 0)
      return true;
  return llvm::any_of(op->getOperands(), [](Value operand) {
    return isa<FeatureType>(operand.getType()) && hasAbsoluteScore(operand);
  });
}

//===- FeatureOpInterface.h - feature ops say of themselves -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_FEATUREOPINTERFACE_H
#define POLYATTN_DIALECTS_FEATUREOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "polyattn/Features/Bounds.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cmath>
#include <optional>

namespace polyattn {

/// Facts of one vector that follow from its program.
struct FeatureFacts {
  /// The degree as a polynomial of the map's input (normalizations count as
  /// degree 1 and keep the degree of what follows them comparable); none where the
  /// vector is no polynomial.
  std::optional<int64_t> degree;
  /// Between which numbers all elements lie, whatever the inputs, in exact arithmetic.
  Bounds bounds;
};

/// What one op takes for one vector.
struct FeatureCost {
  double flops = 0;
  double functions = 0; // how many of these are functions like exp
};

/// What the numbers of a weight are to the op that takes it.
enum class WeightMeaning {
  Plain,
  Gain,        // they multiply or divide: around 1
  Frequencies, // of rotations, given and not learned
  Lags,        // scores by the distance of positions, or their logarithms
};

/// What operands a feature op takes: vectors first (any number where -1), then weights, or
/// vectors in their place where that is allowed.
struct OperandKinds {
  int features, minWeights, maxWeights;
  bool weightsMayBeVectors;
  WeightMeaning firstWeight;
};

/// What a table says of lags.
struct LagTable {
  static constexpr int64_t kMaxCount = 65536;
  mlir::Value table;
  int64_t count, origin; ///< how many numbers it has, and the place of lag 0 among them
  bool isTwoSided;       ///< of lags i - j; else of distances |i - j|
  bool isLog, repeatsLast;
  bool coversCalls; ///< no call has lags that it has no number for

  /// How many positions the table has the distances of.
  int64_t positions() const { return count - origin; }
};

using RoundingFunction = llvm::function_ref<double(double)>;

class GradientBuilder; // GradientBuilder.h

/// An op whose result depends on the position, not on its operands alone.
template <typename ConcreteOp>
class DependsOnPosition : public mlir::OpTrait::TraitBase<ConcreteOp, DependsOnPosition> {};

/// An op that gives its result a structure: the score follows from the scores of its operands, and
/// takes no features of theirs.
template <typename ConcreteOp>
class CombinesScores : public mlir::OpTrait::TraitBase<ConcreteOp, CombinesScores> {};

/// An op that only entries of gradients have. Such entries have no gradient, decoding or segments
/// of their own.
template <typename ConcreteOp>
class OnlyInGradients : public mlir::OpTrait::TraitBase<ConcreteOp, OnlyInGradients> {};

} // namespace polyattn

#include "dialects/PolyAttn/FeatureOpInterface.h.inc"

#endif // POLYATTN_DIALECTS_FEATUREOPINTERFACE_H

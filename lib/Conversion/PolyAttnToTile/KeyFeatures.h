//===- KeyFeatures.h - the features of a state's keys -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KEYFEATURES_H
#define POLYATTN_CONVERSION_KEYFEATURES_H

#include "FeatureBlocks.h"

namespace polyattn {

/// The features of a state's keys, and which side has their weights: the sums, or the queries that
/// read them.
class KeyFeatures {
public:
  using Weights = std::vector<double>;

  /// `isPooled` says that the state lives in a pool.
  KeyFeatures(StateUpdateInterface op, bool isPooled);

  /// The features as they come into the sums.
  FeatureBlocks blocks() const { return FeatureBlocks(plan, areBare ? Weights() : weights); }
  /// The weights that the sums lack; empty where they lack none.
  Weights missing() const;
  /// What a feature's sums are to be multiplied by.
  double missingOf(int64_t feature) const { return areBare ? weights[feature] : 1; }

private:
  bool canBeBare(StateUpdateInterface op) const;

  FeaturePlan plan;
  Weights weights; // of all features
  bool areBare;    // sums are those of products without their weights
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KEYFEATURES_H

//===- FeatureFacts.h - what is known of a vector of features ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_FEATUREFACTS_H
#define POLYATTN_DIALECTS_FEATUREFACTS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// Facts of one vector that follow from its program.
struct FeatureFacts {
  /// The degree as a polynomial of the map's input (normalizations count as
  /// degree 1 and keep the degree of what follows them comparable); none where the
  /// vector is no polynomial.
  std::optional<int64_t> degree;
  /// No element is negative, whatever the inputs.
  bool nonNegative = false;
};

FeatureFacts factsOf(mlir::Value value);

/// True where <query, key> is never negative: both vectors are non-negative, the
/// structure is built from even powers by sums and products, or the score is a
/// polynomial of one smaller score that has no negative value (BASED).
bool scoresNonNegative(mlir::Value query, mlir::Value key);

/// The projection without bias whose result goes into this one alone, where one projection with
/// the product of the weights takes no more multiply-adds than the two; null otherwise.
ProjectOp mergeableInput(ProjectOp project);

/// True where some power in the program takes |score|, which features cannot give.
bool hasAbsoluteScore(mlir::Value value);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_FEATUREFACTS_H

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

FeatureFacts factsOf(mlir::Value value);

/// Whether the few ops before a vector, which folds look at again and again, tell that it is not
/// negative, however it is rounded. What `factsOf` finds in a long program, or from how large
/// elements are (1 + cos(a)), stays unknown here.
bool isNonNegativeNearby(mlir::Value value);

/// True where scale <query, key> is never negative: the scale is not, and both vectors are
/// non-negative, the structure is built from even powers by sums and products, or the score is a
/// polynomial of one smaller score that has no negative value (BASED).
bool scoresNonNegative(mlir::Value query, mlir::Value key, double scale);

/// The projection without bias whose result goes into this one alone, where one projection with
/// the product of the weights takes no more multiply-adds than the two; null otherwise.
ProjectOp mergeableInput(ProjectOp project);

/// The map that an `apply` applies; null for other values and where it has no result.
FeatureMapOp appliedMap(mlir::Value value);

/// The first op that is wanted of those that combine to a vector's score, and of what these take;
/// maps are looked into. Null where none is.
mlir::Operation *findInScore(mlir::Value vector,
                             llvm::function_ref<bool(mlir::Operation *)> isWanted);

/// Whether a vector has a score and no features: an odd power of |score|, `exp_score` or
/// `relative`.
bool lacksFeatures(mlir::Value value);
/// The reason, for messages; empty where it has features.
std::string noFeaturesOf(mlir::Value vector);
/// Why what an attend's rows take is not known from sums over keys; empty where it may have a
/// state.
std::string noStateOf(AttendOp attend);
inline bool mayHaveState(AttendOp attend) { return noStateOf(attend).empty(); }
/// Whether a vector gives the score 0 with any other: a constant, or a map of that.
bool isZeroVector(mlir::Value vector);
/// Whether an attend has pairs by local vectors alone: its features are zero, and no state is
/// given, asked for or kept. Gradients of local vectors are such.
bool hasLocalPairsAlone(AttendOp attend);
/// Whether some pairs of an attend may go by features, and so by a state.
inline bool readsFeatures(AttendOp attend) {
  return mayHaveState(attend) && !hasLocalPairsAlone(attend);
}
/// Why the window of an attend does not reach into the calls before, as a clause; empty where it
/// does.
std::string noRingOf(AttendOp attend);

/// Attend, C14, in a map's or an attention's body: what has no features is a part of scores.
mlir::LogicalResult verifyFeaturelessScores(mlir::Block &body);
/// Attend, C14: what has no features stands in both vectors at the same places.
bool featurelessScoresMatch(mlir::Value query, mlir::Value key);

/// What a weight means to the feature op that uses it.
WeightMeaning meaningOf(mlir::OpOperand &weight);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_FEATUREFACTS_H

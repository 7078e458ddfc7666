//===- Windows.cpp - pairs that are known to be zero ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Windows.h"
#include "dialects/PolyAttn/FeatureFacts.h"

using namespace mlir;
using namespace polyattn;

/// The number of positions on either side, a row's own one included, that a table has numbers for;
/// none where it has one for every distance.
static std::optional<int64_t> windowOfTable(const LagTable &lags) {
  if (lags.repeatsLast || lags.coversCalls)
    return std::nullopt;
  return lags.positions();
}

namespace {
/// From which distance on scores are known to be zero, for each vector once.
class ScoreWindows {
public:
  std::optional<int64_t> of(Value vector) {
    auto [found, isNew] = known.try_emplace(vector, std::nullopt);
    if (!isNew || depth == kMaxDepth)
      return found->second;
    ++depth;
    std::optional<int64_t> window = compute(vector);
    --depth;
    return known[vector] = window;
  }

private:
  /// What lies deeper is not looked at: nothing is known of it.
  static constexpr int kMaxDepth = 256;

  std::optional<int64_t> compute(Value vector) {
    Operation *op = vector.getDefiningOp();
    if (auto relative = dyn_cast_or_null<RelativeOp>(op))
      return windowOfTable(relative.getLags());
    if (isa_and_nonnull<ScaleOp, PowerOp>(op))
      return of(op->getOperand(0));
    if (!isa_and_nonnull<TensorOp, ConcatOp>(op))
      return std::nullopt;
    // A product is zero where a factor is, a sum where all terms are.
    bool isSum = isa<ConcatOp>(op);
    std::optional<int64_t> window;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> own = of(operand);
      if (!own && isSum)
        return std::nullopt;
      if (own)
        window = !window ? own : isSum ? std::max(*window, *own) : std::min(*window, *own);
    }
    return window;
  }

  int depth = 0;
  llvm::DenseMap<Value, std::optional<int64_t>> known;
};
} // namespace

/// The distance from which on a row takes nothing of a pair; none where it takes something of all.
static std::optional<int64_t> windowByTables(AttendOp attend) {
  NormalizerAttr normalizer = attend.getNormalizer();
  // What these take of a row, pairs with the score 0 change.
  if (attend.getLocalQuery() || normalizer.isMean() || normalizer.needsRowMax() ||
      normalizer.isSoftmax())
    return std::nullopt;
  std::optional<int64_t> ofScores = ScoreWindows().of(attend.getQuery()), ofValue;
  if (RelativeSlopeOp slope = attend.getLagSlope())
    ofValue = windowOfTable(slope.getLags());
  return ofScores && ofValue ? std::min(*ofScores, *ofValue) : ofScores ? ofScores : ofValue;
}

std::optional<int64_t> polyattn::keptWindowOf(AttendOp attend) {
  std::optional<int64_t> window = windowOf(attend);
  if (attend.getLocalQuery())
    return window;
  auto see = [&](Operation *op) {
    if (auto relative = dyn_cast<RelativeOp>(op))
      if (LagTable lags = relative.getLags(); lags.coversCalls)
        window = std::min(window.value_or(lags.positions()), lags.positions());
    return false;
  };
  findInScore(attend.getQuery(), see);
  return window;
}

std::optional<int64_t> polyattn::windowOf(AttendOp attend) {
  std::optional<int64_t> window = windowByTables(attend);
  if (!attend.getWindow())
    return window;
  auto own = int64_t(*attend.getWindow());
  return window ? std::min(*window, own) : own;
}

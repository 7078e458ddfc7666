//===- LocalizeTables.cpp - scores that are constant beyond a table -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureFacts.h"
#include "mlir/IR/Builders.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"

using namespace mlir;
using namespace polyattn;

namespace polyattn {
#define GEN_PASS_DEF_LOCALIZETABLES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

namespace {
/// A vector with a score that is the number of `table` times the score of the product of `others`.
struct TableFactor {
  RelativeOp table;
  SmallVector<Value> others;

  static std::optional<TableFactor> of(Value vector) {
    if (auto table = vector.getDefiningOp<RelativeOp>())
      return TableFactor{table, {}};
    auto product = vector.getDefiningOp<TensorOp>();
    if (!product)
      return std::nullopt;
    TableFactor found;
    for (Value factor : product.getInputs()) {
      auto table = factor.getDefiningOp<RelativeOp>();
      if (table && !found.table)
        found.table = table;
      else if (lacksFeatures(factor))
        return std::nullopt;
      else
        found.others.push_back(factor);
    }
    return found.table ? std::optional(found) : std::nullopt;
  }
};
} // namespace

/// Whether the pairs of an attend may be cut into near and far ones: it has nothing yet that says
/// which pairs there are, or what is known of calls before.
static bool mayBeCut(AttendOp attend) {
  NormalizerAttr normalizer = attend.getNormalizer();
  bool hasStates = attend.getInitialState() || attend.getFinalState() || attend.getStateEvery() ||
                   attend.getBlockStates() || attend.getState();
  if (!attend.isOrdered() || attend.getLocalQuery() || attend.getWindow() || attend.hasDecay() ||
      hasStates || attend.getProducts() || attend.getLagSlope() || attend.getScheduleAttr() ||
      normalizer.isSoftmax() || normalizer.needsRowMax())
    return false;
  auto entry = attend->getParentOfType<AttentionOp>();
  return entry && !entry.getSlots() && !entry.getLengths();
}

/// From which distance on all pairs have the table's last number. Whole blocks have fewer pairs
/// on the window's edges, which take both scores.
static int64_t nearPositions(const LagTable &lags) {
  int64_t shortest = std::max<int64_t>(lags.count - 1, 1);
  return llvm::alignTo(shortest, blockOfSlidingWindow(shortest));
}

namespace {
struct LocalizeTables : polyattn::impl::LocalizeTablesBase<LocalizeTables> {
  void runOnOperation() override {
    getOperation().walk([&](AttendOp attend) {
      std::optional<TableFactor> query = TableFactor::of(attend.getQuery());
      std::optional<TableFactor> key = TableFactor::of(attend.getKey());
      if (!query || !key || query->table.getResult() != key->table.getResult())
        return;
      LagTable lags = query->table.getLags();
      if (lags.repeatsLast && !lags.isTwoSided && mayBeCut(attend))
        localize(attend, *query, *key, lags);
    });
  }

private:
  void localize(AttendOp attend, const TableFactor &query, const TableFactor &key,
                const LagTable &lags) {
    OpBuilder builder(attend);
    Value last = lastOf(builder, attend.getLoc(), lags);
    // Tables are those of query heads, also where the rows are of keys.
    bool ofKeys = attend.getOfKeys();
    Value farQuery = product(builder, attend.getLoc(), query.others, ofKeys ? Value() : last);
    Value farKey = product(builder, attend.getLoc(), key.others, ofKeys ? last : Value());
    attend.getLocalQueryMutable().assign(attend.getQuery());
    attend.getLocalKeyMutable().assign(attend.getKey());
    attend.getQueryMutable().assign(farQuery);
    attend.getKeyMutable().assign(farKey);
    attend.setBlock(nearPositions(lags));
    attend.setSliding(true);
    if (attend.getNormalizer().hasDenominator() &&
        !scoresNonNegative(farQuery, farKey, attend.scoreScale()))
      attend.setSignedScores(true);
  }

  /// The last number of a table, as a vector of one element.
  static Value lastOf(OpBuilder &builder, Location loc, const LagTable &lags) {
    Value zero = ConstantOp::create(builder, loc, APFloat(0.0), lags.count);
    Value numbers = AddVecOp::create(builder, loc, zero, lags.table);
    Value last = SelectOp::create(builder, loc, numbers, ArrayRef<int64_t>{lags.count - 1});
    return lags.isLog ? ExpOp::create(builder, loc, last).getResult() : last;
  }

  /// The product of `factors`, of which there may be none, and of `number`, 1 if null. Both sides
  /// have a factor for the number, so their structures stay equal.
  static Value product(OpBuilder &builder, Location loc, ArrayRef<Value> factors, Value number) {
    Value one = number ? number : ConstantOp::create(builder, loc, APFloat(1.0), /*width=*/1);
    if (factors.empty())
      return one;
    SmallVector<Value> all = {one};
    llvm::append_range(all, factors);
    return TensorOp::create(builder, loc, all);
  }
};
} // namespace

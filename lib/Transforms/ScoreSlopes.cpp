//===- ScoreSlopes.cpp - slopes of scores, as scores ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreSlopes.h"
#include "dialects/PolyAttn/Leaves.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::hasScoreSlopes(Value vector) {
  auto power = vector.getDefiningOp<PowerOp>();
  if (power && power.getAbs() && power.getDegree() == 1)
    return false;
  return llvm::all_of(partsOf(vector), hasScoreSlopes);
}

namespace {

/// Goes down both vectors at once, from their structure to the leaves.
class SlopeWalk {
public:
  SlopeWalk(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  void visit(Value query, Value key, ArrayRef<Value> queries, ArrayRef<Value> keys, double factor);
  SmallVector<ScoreSlope> takeMerged();

private:
  /// The vector below what changes no structure, whose factor goes into `factor`.
  static Value peel(Value vector, double &factor);
  void visitPower(PowerOp query, PowerOp key, ArrayRef<Value> queries, ArrayRef<Value> keys,
                  double factor);
  /// The base to a power whose score is the slope of the op's score, but for the degree.
  Value lowerPower(PowerOp op, Value base);
  Value raise(PowerOp op, Value base, int64_t degree, bool abs);
  Value product(ArrayRef<Value> factors) {
    if (factors.size() < 2)
      return factors.empty() ? Value() : factors[0];
    return TensorOp::create(builder, loc, factors);
  }
  ScoreSlope merge(ArrayRef<ScoreSlope> slopes);
  void mergeInto(SmallVectorImpl<ScoreSlope> &merged, ArrayRef<ScoreSlope> slopes);

  OpBuilder &builder;
  Location loc;
  SmallVector<ScoreSlope> places; // a pair of leaves may meet at several
};

} // namespace

Value SlopeWalk::peel(Value vector, double &factor) {
  for (;;) {
    ValueRange parts = partsOf(vector);
    if (auto scaled = vector.getDefiningOp<ScaleOp>(); scaled && !parts.empty())
      factor *= scaled.getFactor().convertToDouble();
    else if (parts.size() != 1 || !isa<ConcatOp, TensorOp>(vector.getDefiningOp()))
      return vector;
    vector = parts[0];
  }
}

Value SlopeWalk::raise(PowerOp op, Value base, int64_t degree, bool abs) {
  if (degree == 1 && !abs)
    return base;
  return PowerOp::create(builder, loc, base, degree, op.getSymmetric(), op.getBlockAttr(), abs);
}

/// The slope of s^p is p s^(p-1), and that of |s|^p for odd p is p s |s|^(p-2).
Value SlopeWalk::lowerPower(PowerOp op, Value base) {
  int64_t degree = op.getDegree();
  bool isOddMagnitude = op.getAbs() && degree % 2;
  if (!isOddMagnitude)
    return raise(op, base, degree - 1, /*abs=*/false);
  return TensorOp::create(builder, loc,
                          ValueRange{base, raise(op, base, degree - 2, /*abs=*/true)});
}

void SlopeWalk::visitPower(PowerOp query, PowerOp key, ArrayRef<Value> queries,
                           ArrayRef<Value> keys, double factor) {
  SmallVector<Value> moreQueries(queries), moreKeys(keys);
  if (query.getDegree() > 1) {
    moreQueries.push_back(lowerPower(query, query.getInput()));
    moreKeys.push_back(lowerPower(key, key.getInput()));
  }
  visit(query.getInput(), key.getInput(), moreQueries, moreKeys,
        factor * double(query.getDegree()));
}

void SlopeWalk::visit(Value query, Value key, ArrayRef<Value> queries, ArrayRef<Value> keys,
                      double factor) {
  query = peel(query, factor);
  key = peel(key, factor);
  ValueRange queryParts = partsOf(query), keyParts = partsOf(key);
  if (queryParts.empty() || keyParts.empty()) {
    places.push_back({query, key, product(queries), product(keys), factor});
    return;
  }
  if (auto power = query.getDefiningOp<PowerOp>())
    return visitPower(power, key.getDefiningOp<PowerOp>(), queries, keys, factor);
  if (isa<ExpScoreOp>(query.getDefiningOp())) { // which is its own slope
    SmallVector<Value> moreQueries(queries), moreKeys(keys);
    moreQueries.push_back(query);
    moreKeys.push_back(key);
    return visit(queryParts[0], keyParts[0], moreQueries, moreKeys, factor);
  }
  bool isProduct = isa<TensorOp>(query.getDefiningOp());
  for (size_t i = 0; i < queryParts.size(); ++i) {
    SmallVector<Value> moreQueries(queries), moreKeys(keys);
    for (size_t other = 0; isProduct && other < queryParts.size(); ++other)
      if (other != i) {
        moreQueries.push_back(queryParts[other]);
        moreKeys.push_back(keyParts[other]);
      }
    visit(queryParts[i], keyParts[i], moreQueries, moreKeys, factor);
  }
}

/// The sum of slopes in one score: the score of the vectors side by side.
ScoreSlope SlopeWalk::merge(ArrayRef<ScoreSlope> slopes) {
  if (slopes.size() == 1)
    return slopes[0];
  SmallVector<Value> queries, keys;
  for (const ScoreSlope &slope : slopes) {
    Value query = slope.slopeQuery, key = slope.slopeKey;
    if (!query)
      query = key = ConstantOp::create(builder, loc, APFloat(1.0), /*width=*/1);
    queries.push_back(
        slope.factor == 1 ? query : ScaleOp::create(builder, loc, query, APFloat(slope.factor)));
    keys.push_back(key);
  }
  return {slopes[0].query, slopes[0].key, ConcatOp::create(builder, loc, queries),
          ConcatOp::create(builder, loc, keys), 1.0};
}

/// Adds the sum of slopes of one pair of leaves, in as few scores as have not too many parts.
void SlopeWalk::mergeInto(SmallVectorImpl<ScoreSlope> &merged, ArrayRef<ScoreSlope> slopes) {
  constexpr size_t kMostCode = FeatureType::kMaxCode / 2; // rows are a factor beside them
  auto codeOf = [](const ScoreSlope &slope) {
    return slope.slopeQuery ? cast<FeatureType>(slope.slopeQuery.getType()).getCode().size() : 0;
  };
  size_t begin = 0, code = 0;
  for (size_t i = 0; i < slopes.size(); ++i) {
    if (i > begin && code + codeOf(slopes[i]) > kMostCode) {
      merged.push_back(merge(slopes.slice(begin, i - begin)));
      begin = i;
      code = 0;
    }
    code += codeOf(slopes[i]);
  }
  merged.push_back(merge(slopes.drop_front(begin)));
}

SmallVector<ScoreSlope> SlopeWalk::takeMerged() {
  SmallVector<ScoreSlope> merged;
  while (!places.empty()) {
    SmallVector<ScoreSlope> same, others;
    for (const ScoreSlope &place : places)
      (place.query == places[0].query && place.key == places[0].key ? same : others)
          .push_back(place);
    mergeInto(merged, same);
    places = std::move(others);
  }
  return merged;
}

SmallVector<ScoreSlope> polyattn::scoreSlopes(OpBuilder &builder, Location loc, Value query,
                                              Value key) {
  SlopeWalk walk(builder, loc);
  walk.visit(query, key, {}, {}, 1.0);
  return walk.takeMerged();
}

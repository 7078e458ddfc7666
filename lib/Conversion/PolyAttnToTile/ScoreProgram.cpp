//===- ScoreProgram.cpp - scores of a pair of blocks ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreProgram.h"
#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/Leaves.h"
#include "polyattn/Features/ScoreExpression.h"
#include "polyattn/Schedule/FeaturePlan.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// The score of two structured vectors, and the pairs of plain vectors whose inner products are
/// its leaves.
class Score {
public:
  Score(Value query, Value key) : expression(read(query, key)) {}

  SmallVector<std::pair<Value, Value>> leaves; // each pair once
  ScoreExpression expression;

private:
  ScoreExpression read(Value query, Value key);
  ScoreExpression unscaled(Value query, Value key);
  ScoreExpression leaf(Value query, Value key);
};

} // namespace

/// A score times the factors of both sides: times their product, unless kernels, which multiply in
/// f32, cannot write that.
static ScoreExpression scaled(ScoreExpression score, double ofQuery, double ofKey) {
  double product = ofQuery * ofKey;
  if (product == 1)
    return score;
  if (isRepresentable(product))
    return ScoreExpression::product({std::move(score), ScoreExpression::constant(product)});
  return ScoreExpression::product(
      {std::move(score), ScoreExpression::constant(ofQuery), ScoreExpression::constant(ofKey)});
}

/// Both sides have one structure, so they are read together.
ScoreExpression Score::read(Value query, Value key) {
  double ofQuery = 1, ofKey = 1;
  query = withoutScales(query, ofQuery);
  key = withoutScales(key, ofKey);
  auto constantQ = query.getDefiningOp<ConstantOp>(), constantK = key.getDefiningOp<ConstantOp>();
  if (constantQ && constantK)
    return ScoreExpression::constant(ofQuery * ofKey * constantQ.getWidth() *
                                     constantQ.getValue().convertToDouble() *
                                     constantK.getValue().convertToDouble());
  return scaled(unscaled(query, key), ofQuery, ofKey);
}

ScoreExpression Score::unscaled(Value query, Value key) {
  Operation *q = query.getDefiningOp(), *k = key.getDefiningOp();
  auto powerQ = dyn_cast<PowerOp>(q), powerK = dyn_cast<PowerOp>(k);
  if (powerQ && powerK) {
    ScoreExpression base = read(powerQ.getInput(), powerK.getInput());
    if (powerQ.getAbs())
      base = ScoreExpression::magnitude(base);
    return ScoreExpression::power(base, powerQ.getDegree());
  }
  auto exponentQ = dyn_cast<ExpScoreOp>(q), exponentK = dyn_cast<ExpScoreOp>(k);
  if (exponentQ && exponentK)
    return ScoreExpression::exponential(read(exponentQ.getInput(), exponentK.getInput()));
  bool products = isa<TensorOp>(q) && isa<TensorOp>(k);
  bool sums = isa<ConcatOp>(q) && isa<ConcatOp>(k) &&
              llvm::equal(q->getOperandTypes(), k->getOperandTypes());
  if (!products && !sums)
    return leaf(query, key);
  std::vector<ScoreExpression> parts;
  for (auto [a, b] : llvm::zip(q->getOperands(), k->getOperands()))
    parts.push_back(read(a, b));
  return products ? ScoreExpression::product(parts) : ScoreExpression::sum(parts);
}

ScoreExpression Score::leaf(Value query, Value key) {
  std::pair<Value, Value> pair(query, key);
  int64_t index = llvm::find(leaves, pair) - leaves.begin();
  if (index == int64_t(leaves.size()))
    leaves.push_back(pair);
  return ScoreExpression::leaf(index);
}

void polyattn::prepareScores(Value query, Value key, VectorProgram &queries) {
  for (auto [q, k] : Score(query, key).leaves)
    if (!q.getDefiningOp<RelativeOp>())
      queries.lhs(q);
}

Value polyattn::buildScores(TileBuilder &b, Value query, Value key, VectorProgram &queries,
                            VectorProgram &keys, LagScores lags, double factor,
                            tile::Triangle triangle) {
  Score score(query, key);
  SmallVector<Value> inputs;
  for (auto [q, k] : score.leaves) {
    if (auto relative = q.getDefiningOp<RelativeOp>()) {
      inputs.push_back(lags(relative, queries, keys));
      continue;
    }
    LhsTile lhs = queries.lhs(q);
    inputs.push_back(b.dot(lhs.tile, keys.full(k), Value(), lhs.transposed, triangle));
  }
  if (inputs.empty()) // a constant score
    inputs.push_back(b.constant(queries.getColumns(), keys.getColumns(), 0));
  return b.map(inputs, [&](ElementBuilder &e, ValueRange in) {
    SmallVector<Value> products(in);
    Value result = score.expression.evaluate<Value>(e, products);
    return factor == 1 ? result : e.mul(result, e.constant(factor));
  });
}

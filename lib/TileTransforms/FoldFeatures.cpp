//===- FoldFeatures.cpp - features that are there already -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The features of a sum of scores are the rows of all of them, one after the other, with a weight
// for each. Those of degree one are the rows themselves, which need not be copied, and a weight of
// some of them, as the sign of a denominator's gradient, is none of the others.
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_FOLDFEATURES
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

static Value scaled(OpBuilder &builder, Value value, double factor) {
  if (factor == 1)
    return value;
  Location loc = value.getLoc();
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return ConstantOp::create(
        builder, loc, constant.getType(),
        builder.getF64FloatAttr(constant.getValue().convertToDouble() * factor));
  auto map = MapOp::create(builder, loc, value.getType(), value);
  OpBuilder::InsertionGuard guard(builder);
  Type element = tileType(value).getElementType();
  Block *body = builder.createBlock(&map.getBody(), {}, element, loc);
  Value number = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(element, factor));
  Value product = arith::MulFOp::create(builder, loc, body->getArgument(0), number);
  YieldOp::create(builder, loc, product);
  return map.getResult();
}

/// `value` with a weight for each of its rows, where that is its parts one after the other and only
/// rows and constants among them have another weight than one. Null elsewhere.
static Value weighted(OpBuilder &builder, Value value, ArrayRef<double> weights) {
  if (llvm::all_of(weights, [](double weight) { return weight == 1; }))
    return value;
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat)
    return {};
  SmallVector<std::pair<Value, double>> parts;
  for (Value input : concat.getInputs()) {
    int64_t rows = tileType(input).getRows();
    double weight = weights.front();
    bool isEven = llvm::all_equal(weights.take_front(rows));
    bool isSmall = rows == 1 || input.getDefiningOp<ConstantOp>();
    if (!isEven || (weight != 1 && !isSmall))
      return {};
    parts.emplace_back(input, weight);
    weights = weights.drop_front(rows);
  }
  SmallVector<Value> inputs;
  for (auto [input, weight] : parts)
    inputs.push_back(scaled(builder, input, weight));
  return ConcatOp::create(builder, value.getLoc(), value.getType(), inputs);
}

/// Whether row r of the features is row r of their source, all of them.
static bool areTheRows(MonomialsOp features) {
  int64_t rows = features.getType().getRows();
  auto table = llvm::to_vector(features.getTable().getValues<int32_t>());
  return matchPattern(features.getFirst(), m_Zero()) &&
         rows == features.getSource().getType().getRows() && int64_t(table.size()) == rows &&
         llvm::equal(table, llvm::seq<int32_t>(0, rows));
}

static void fold(MonomialsOp features) {
  if (!areTheRows(features))
    return;
  OpBuilder builder(features);
  Value rows = features.getSource();
  if (features.getWeights())
    rows = weighted(builder, rows, *features.getWeights());
  if (!rows)
    return;
  features.replaceAllUsesWith(rows);
  features.erase();
}

/// Replaces the product of a tile with a column of weights, one for each row, by the tile that has
/// them in what it is concatenated from.
static void fold(MapOp map) {
  if (map.getInputs().size() != 2)
    return;
  auto column = map.getInputs()[1].getDefiningOp<ConstantColumnOp>();
  Block &body = map.getBody().front();
  auto product = dyn_cast<arith::MulFOp>(body.front());
  bool isProduct = product && llvm::equal(product->getOperands(), body.getArguments()) &&
                   body.getTerminator()->getOperands() == product->getResults();
  if (!column || !isProduct || map.getType() != map.getInputs()[0].getType())
    return;
  OpBuilder builder(map);
  if (Value rows = weighted(builder, map.getInputs()[0], column.getValues())) {
    map.replaceAllUsesWith(rows);
    map.erase();
  }
}

namespace {
struct FoldFeaturesPass : polyattn::impl::FoldFeaturesBase<FoldFeaturesPass> {
  using FoldFeaturesBase::FoldFeaturesBase;

  void runOnOperation() final {
    getOperation()->walk([](Operation *op) {
      if (auto features = dyn_cast<MonomialsOp>(op))
        fold(features);
      else if (auto map = dyn_cast<MapOp>(op))
        fold(map);
    });
  }
};
} // namespace

//===- FeatureBlocks.cpp - features, block by block -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureBlocks.h"

using namespace mlir;
using namespace polyattn;

FeatureBlocks::FeatureBlocks(const FeaturePlan &plan, std::vector<double> weights)
    : plan(plan), weights(std::move(weights)), partWeights(plan.partRows().size(), 1.0) {
  uniform = llvm::all_equal(this->weights);
  if (plan.isDirect() && (!uniform || plan.hasMixedDegrees()))
    weighParts();
}

/// Weighs the parts of the stack, if all features of each part have the same weight.
void FeatureBlocks::weighParts() {
  ArrayRef<double> rest = weights;
  if (rest.empty()) // of bare features
    return;
  SmallVector<double> parts;
  for (int64_t rows : plan.partRows()) {
    if (!llvm::all_equal(rest.take_front(rows)))
      return;
    parts.push_back(rest.front());
    rest = rest.drop_front(rows);
  }
  partWeights = std::move(parts);
  weights.clear();
  uniform = true;
}

void FeatureBlocks::prepare(TileBuilder &b, VectorProgram &program) {
  if (plan.isOneLeaf()) {
    program.full(plan.leaves[0]);
    return;
  }
  SmallVector<Value> tiles;
  for (auto [part, rows] : llvm::enumerate(plan.partRows())) {
    double weight = partWeights[part];
    // Products of fewer factors than the longest take a row of ones for the others.
    tiles.push_back(part < plan.leaves.size() ? b.scaled(program.full(plan.leaves[part]), weight)
                                              : b.constant(rows, program.getColumns(), weight));
  }
  stack = b.concat(tiles);
}

void FeatureBlocks::prepareIf(TileBuilder &b, VectorProgram &program, Value condition) {
  if (plan.isOneLeaf())
    return prepare(b, program);
  Value times = b.select(condition, b.index(1), b.index(0));
  Value zeros = b.constant(plan.stackRows + plan.hasMixedDegrees(), program.getColumns(), 0);
  stack = b.loop(b.index(0), times, b.index(1), zeros, [&](Value, ValueRange) {
    // What is computed in the loop is known to nobody behind it.
    VectorProgram inside = program;
    prepare(b, inside);
    return TileBuilder::Values{stack};
  })[0];
}

bool FeatureBlocks::areRowMajor() const {
  return plan.isOneLeaf() && uniform && VectorProgram::isRowMajor(plan.leaves[0]);
}

LhsTile FeatureBlocks::rowMajor(TileBuilder &b, VectorProgram &program) {
  LhsTile result = program.lhs(plan.leaves[0]);
  if (isWeighted())
    result.tile = b.scaled(result.tile, weights[0]);
  return result;
}

Value FeatureBlocks::block(TileBuilder &b, VectorProgram &program, Value first, int64_t count) {
  if (!plan.isDirect())
    return b.monomials(stack, first, count, plan.table(b),
                       isWeighted() ? weights : std::vector<double>());
  Value rows = stack ? b.slice(stack, first, count) : program.rows(plan.leaves[0], first, count);
  if (!isWeighted())
    return rows;
  return uniform ? b.scaled(rows, weights[0])
                 : b.mul(rows, b.slice(b.column(weights), first, count));
}

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
    : plan(plan), weights(std::move(weights)) {
  uniform = llvm::all_of(this->weights, [&](double w) { return w == this->weights[0]; });
}

void FeatureBlocks::prepare(TileBuilder &b, VectorProgram &program) {
  if (plan.isDirect() && plan.leaves.size() == 1) {
    program.full(plan.leaves[0]);
    return;
  }
  SmallVector<Value> tiles;
  for (Value leaf : plan.leaves)
    tiles.push_back(program.full(leaf));
  // Products of fewer factors than the longest take a row of ones for the others.
  if (plan.hasMixedDegrees())
    tiles.push_back(b.constant(1, program.getColumns(), 1));
  stack = b.concat(tiles);
}

void FeatureBlocks::prepareIf(TileBuilder &b, VectorProgram &program, Value condition) {
  if (plan.isDirect() && plan.leaves.size() == 1)
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
  return plan.isDirect() && plan.leaves.size() == 1 && (uniform || !isWeighted()) &&
         VectorProgram::isRowMajor(plan.leaves[0]);
}

LhsTile FeatureBlocks::rowMajor(TileBuilder &b, VectorProgram &program) {
  LhsTile result = program.lhs(plan.leaves[0]);
  if (isWeighted())
    result.tile = b.scaled(result.tile, weights[0]);
  return result;
}

Value FeatureBlocks::bare(TileBuilder &b, VectorProgram &program, Value first, int64_t count) {
  if (!stack)
    return program.rows(plan.leaves[0], first, count);
  return b.slice(stack, first, count);
}

Value FeatureBlocks::block(TileBuilder &b, VectorProgram &program, Value first, int64_t count) {
  if (plan.isDirect()) {
    Value rows = bare(b, program, first, count);
    if (!isWeighted())
      return rows;
    if (uniform)
      return b.scaled(rows, weights[0]);
    return b.map({rows, b.slice(b.column(weights), first, count)},
                 [](ElementBuilder &e, ValueRange in) { return e.mul(in[0], in[1]); });
  }
  return b.monomials(stack, first, count, plan.table(b),
                     isWeighted() ? weights : std::vector<double>());
}

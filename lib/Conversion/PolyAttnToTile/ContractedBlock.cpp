//===- ContractedBlock.cpp - blocks that meet through symmetric states ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ContractedState.h says what these states are. The gradient of the features exists for one block
// of features only, which is contracted before the next one is formed.
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"

using namespace mlir;
using namespace polyattn;

namespace {
/// A row of a state: its numbers, and the one that is kept with the normalizers, or null.
struct RowParts {
  Value numbers, normalizer;

  explicit RowParts(Value row) : numbers(row) {
    auto concat = row.getDefiningOp<ConcatOp>();
    if (!concat)
      return;
    numbers = concat.getInputs()[0];
    normalizer = concat.getInputs()[1];
  }
};
} // namespace

void AttendProgram::planContractedState() {
  contracted = ContractedState::of(op);
  keyPlan = planPairs(contracted->keyFactor);
  queryPlan = planPairs(contracted->queryFactor);
  // A pair of two elements is there once for both, one of an element with itself is one.
  for (const Monomial &pair : queryPlan.monomials)
    queryWeights.push_back(contracted->factor * (pair.indices[0] == pair.indices[1] ? 0.5 : 1));
  BlockState::Shape shape = stateShape(op, schedule);
  shape.direction = context.direction();
  state = BlockState(std::move(shape), context.share);
}

StateColumns AttendProgram::stateColumns(VectorProgram &keys) const {
  if (!contracted)
    return {keys.rowMajor(op.getValue()), Value()};
  RowParts column(contracted->column);
  StateColumns columns{keys.rowMajor(column.numbers), Value()};
  if (!column.normalizer)
    return columns;
  auto constant = column.normalizer.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isExactlyValue(1.0))
    columns.normalizer = keys.full(column.normalizer);
  return columns;
}

/// What the queries get from the state, and the update of the state, where nothing reads it in
/// between.
Accumulators AttendProgram::throughContractedState(TileBuilder &b, VectorProgram &queries,
                                                   VectorProgram &keys, const BlockSpan &span,
                                                   const BlockDecay &decay) {
  FeatureBlocks pairs(keyPlan, {});
  StateColumns columns;
  bool updates = isOrdered() && !updatesAfterRun();
  if (updates) {
    pairs.prepare(b, keys);
    columns = stateColumns(keys);
  }
  Value own = queries.full(contracted->queryFactor);
  RowParts row(contracted->row);
  Value numbers = queries.full(row.numbers);
  Value normalizer = row.normalizer ? queries.full(row.normalizer) : Value();
  Value filled = isStateFilled(b, span);
  Value terms = filled ? b.select(filled, b.index(state.getWidth()), b.index(0)) : Value();
  Value valid = updates ? positionsForState(b, span) : Value();
  Value sum = b.constant(queryPlan.stackRows, context.block, 0);
  auto perBlock = [&](Value first, int64_t count, ValueRange in) {
    Value at = state.rowOf(b, first);
    Value gradient = normalizer ? b.mul(state.readNormalizer(b, at, count), normalizer) : Value();
    gradient = b.dot(state.readRows(b, at, count), numbers, gradient, /*lhsTransposed=*/false,
                     tile::Triangle::None, tile::Triangle::None, terms);
    Value contraction = b.contract(gradient, own, first, in[0], queryPlan.table(b), queryWeights);
    if (updates)
      state.update(b, pairs.block(b, keys, first, count), columns.rows, columns.normalizer, first,
                   valid, decay);
    return TileBuilder::Values{contraction};
  };
  Accumulators accumulators;
  accumulators.numerator = b.transpose(state.forFeatureBlocks(b, sum, perBlock)[0]);
  return accumulators;
}

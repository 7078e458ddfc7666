//===- ContractedBlock.cpp - blocks that meet through symmetric states ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractedBlock.h"

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

ContractedBlock::ContractedBlock(AttendOp op, ArrayRef<StateReading> readings)
    : contracted(*ContractedState::of(op)), pairs(planPairs(contracted.queryFactor)) {
  const StateTerm &term = readings.front().term;
  const StateProgram *state = readings.front().state;
  // A pair of two elements is there once for both, one of an element with itself is one. As a
  // feature of `sym 2` the former has the weight of two.
  for (auto [i, pair] : llvm::enumerate(pairs.monomials)) {
    bool isSquare = pair.indices[0] == pair.indices[1];
    double ofPair = term.factor * state->getKeys().missingOf(term.feature + i) /
                    (isSquare ? 1 : std::sqrt(2.0));
    weights.push_back(contracted.factor * (isSquare ? 0.5 : 1) * ofPair);
  }
}

Accumulators ContractedBlock::throughState(TileBuilder &b, const ProgramContext &context,
                                           ArrayRef<StateReading> readings, int64_t featureBlock,
                                           VectorProgram &queries, VectorProgram &keys,
                                           const BlockSpan &span, const BlockDecay &decay) const {
  // The sums of numbers, and where they stand apart those of normalizers.
  const StateReading &own = readings.front(), &apart = readings.back();
  bool updates = apart.updates && apart.state->updatesWithBlock(span);
  FeatureBlocks keyPairs = apart.state->getKeys().blocks();
  StateColumns columns;
  if (updates) {
    keyPairs.prepare(b, keys);
    columns = apart.state->columnsOf(keys);
  }
  Value factor = queries.full(contracted.queryFactor);
  RowParts row(contracted.row);
  Value numbers = queries.full(row.numbers);
  Value normalizer = row.normalizer ? queries.full(row.normalizer) : Value();
  Value filled = own.state->isFilled(b, span);
  Value terms =
      filled ? b.select(filled, b.index(b.typeOf(numbers).getRows()), b.index(0)) : Value();
  Value valid = updates ? apart.state->positionsToAdd(b, span) : Value();
  Value sum = b.constant(pairs.stackRows, context.block, 0);
  auto rowIn = [&](const StateReading &reading, Value first) {
    int64_t by = reading.term.feature;
    return reading.state->getSums().rowOf(b, by ? b.addIndex(first, b.index(by)) : first);
  };
  auto perBlock = [&](Value first, int64_t count, ValueRange in) {
    Value gradient;
    if (normalizer)
      gradient =
          b.mul(apart.state->getSums().readNormalizer(b, rowIn(apart, first), count), normalizer);
    gradient = b.dot(own.state->getSums().readRows(b, rowIn(own, first), count), numbers, gradient,
                     /*lhsTransposed=*/false, tile::Triangle::None, tile::Triangle::None, terms);
    Value contraction = b.contract(gradient, factor, first, in[0], pairs.table(b), weights);
    if (updates)
      apart.state->getSums().update(b, keyPairs.block(b, keys, first, count), columns.rows,
                                    columns.normalizer, first, valid, decay);
    return TileBuilder::Values{contraction};
  };
  FeatureRange range{own.term.features, featureBlock};
  Accumulators accumulators;
  accumulators.numerator = b.transpose(context.share->forBlocks(b, range, sum, perBlock)[0]);
  return accumulators;
}

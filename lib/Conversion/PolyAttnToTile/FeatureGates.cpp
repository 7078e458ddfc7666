//===- FeatureGates.cpp - a decay of each feature -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureGates.h"

using namespace mlir;
using namespace polyattn;

Value FeatureGates::load(TileBuilder &b, const KeyBlock &block, Value first, int64_t count) const {
  const KernelFrame &frame = context.frame;
  return tile::LoadOp::create(
      b, b.tileType(count, context.block), frame.input(op.getDecay()),
      ValueRange{frame.sequence.batch, frame.sequence.rowOf(b, block.position), head(), first},
      block.valid,
      /*row_dim=*/1, /*col_dim=*/3, /*transposed=*/true);
}

Value FeatureGates::inBlock(TileBuilder &b, const KeyBlock &block, Value first,
                            int64_t count) const {
  return expOf(b, load(b, block, first, count));
}

Value FeatureGates::sum(TileBuilder &b, const Sweep &sweep, Value first, int64_t count) const {
  Value zeros = b.constant(count, 1, 0);
  return sweep.forBlocks(b, zeros, [&](const BlockSpan &span, ValueRange in) {
    Value gates = load(b, {span.position, span.valid}, first, count);
    return TileBuilder::Values{b.add(in[0], b.reduceColumns(gates))};
  })[0];
}

Value FeatureGates::ofToken(TileBuilder &b) const {
  const KernelFrame &frame = context.frame;
  Value row = frame.sequence.rowOf(b, b.index(0));
  return expOf(b, tile::LoadOp::create(b, b.tileType(1, op.getKey().getType().getWidth()),
                                       frame.input(op.getDecay()),
                                       ValueRange{frame.sequence.batch, row, head(), b.index(0)},
                                       Value(), /*row_dim=*/-1, /*col_dim=*/3,
                                       /*transposed=*/false));
}

namespace {
/// The column at hand of tiles [count x C].
struct Column {
  Value all;    // [1 x C], the columns' numbers
  Value number; // [1 x 1]

  /// factor x, with `own` in place of x in the column. One map: tiles of this size go through
  /// memory.
  Value times(TileBuilder &b, Value x, Value own, Value factor) const {
    return b.map({x, own, factor, all, number}, [](ElementBuilder &e, ValueRange in) {
      return e.mul(e.select(differ(e, in[3], in[4]), in[0], in[1]), in[2]);
    });
  }
  /// x, with factor `own` in the column.
  Value with(TileBuilder &b, Value x, Value own, Value factor) const {
    return b.map({x, own, factor, all, number}, [](ElementBuilder &e, ValueRange in) {
      return e.select(differ(e, in[3], in[4]), in[0], e.mul(in[1], in[2]));
    });
  }

private:
  static Value differ(ElementBuilder &e, Value a, Value b) {
    return arith::CmpFOp::create(e, arith::CmpFPredicate::ONE, a, b);
  }
};
} // namespace

DecayedFeatures polyattn::decayFeatures(TileBuilder &b, Value gates, Value queries, Value keys,
                                        Value valid, Value values, const BlockSums &sums) {
  tile::TileType type = TileBuilder::typeOf(keys);
  int64_t count = type.getRows(), positions = type.getColumns();
  Value zeros = b.constant(count, positions, 0), one = b.index(1);
  Value columns = tile::IotaOp::create(b, b.tileType(1, positions), b.index(0));
  SmallVector<Value> carried = {zeros, b.constant(count, 1, 1)};
  if (queries)
    carried.append({zeros, sums.numerator});
  if (queries && sums.denominator)
    carried.push_back(sums.denominator);
  auto results = b.loop(b.index(0), valid, one, carried, [&](Value i, ValueRange in) {
    // From the last key to the first one.
    Value j = b.subIndex(b.subIndex(valid, one), i);
    Column column{columns, tile::IotaOp::create(b, b.tileType(1, 1), j)};
    Value gate = b.sliceColumns(gates, j, 1), after = in[1];
    TileBuilder::Values out = {column.with(b, in[0], keys, after), b.mul(after, gate)};
    if (!queries)
      return out;
    Value scores = b.reduceRows(column.times(b, in[2], queries, b.sliceColumns(keys, j, 1)));
    out.push_back(column.times(b, in[2], queries, gate));
    out.push_back(b.dot(scores, b.slice(values, j, 1), in[3], /*lhsTransposed=*/true));
    if (sums.denominator)
      out.push_back(b.add(in[4], scores));
    return out;
  });
  DecayedFeatures decayed;
  decayed.keys = results[0];
  decayed.factor = results[1];
  if (queries)
    decayed.queries = results[2];
  if (queries)
    decayed.sums.numerator = results[3];
  if (queries && sums.denominator)
    decayed.sums.denominator = results[4];
  return decayed;
}

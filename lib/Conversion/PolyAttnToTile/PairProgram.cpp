//===- PairProgram.cpp - pairs of an attend that go by scores -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairProgram.h"
#include "ScoreProgram.h"

using namespace mlir;
using namespace polyattn;

/// Code for several columns at a time reads so many numbers of a diagonal tile at most.
static constexpr int64_t kLanes = 16;

/// The scores of a table, whose diagonals are the lags from the last key to the first row and on.
/// With `of_keys` rows are keys, and lags go the other way; so do distances under the anticausal
/// mask.
Value PairProgram::lagScores(TileBuilder &b, RelativeOp relative, const VectorProgram &queries,
                             const VectorProgram &keys) {
  int64_t rows = queries.getColumns(), columns = keys.getColumns();
  int64_t longest = std::max({rows, columns, int64_t(op.getScheduleAttr().getBlock()), kLanes});
  Value distance = b.subIndex(queries.getRows().rowOfCall, keys.getRows().rowOfCall);
  auto toeplitz = [&](bool transposed) -> Value {
    Value origin = transposed ? b.subIndex(b.index(0), distance) : distance;
    Value first = b.subIndex(origin, b.index((transposed ? rows : columns) - 1));
    Value diagonals = context.frame.diagonals(b, relative, first, rows + columns - 1, 2 * longest);
    return tile::ToeplitzOp::create(b, b.tileType(rows, columns), diagonals, transposed);
  };
  bool isFull = op.getMask() == Mask::Full;
  if (!isFull)
    return toeplitz(/*transposed=*/op.getMask() == Mask::Anticausal);
  if (relative.getTwoSided())
    return toeplitz(/*transposed=*/op.getOfKeys());
  // The table has distances: of rows before the column they run the other way.
  Value row = b.transpose(tile::IotaOp::create(b, b.tileType(1, rows), distance));
  Value column = tile::IotaOp::create(b, b.tileType(1, columns), b.index(0));
  return b.map({toeplitz(false), toeplitz(true), row, column},
               [](ElementBuilder &e, ValueRange in) {
                 return e.select(e.less(in[2], in[3]), in[1], in[0]);
               });
}

Value PairProgram::scores(TileBuilder &b, VectorProgram &queries, VectorProgram &keys, bool local,
                          tile::Triangle triangle, const PairDecay &decay) {
  auto lags = [&](RelativeOp relative, const VectorProgram &queries, const VectorProgram &keys) {
    return lagScores(b, relative, queries, keys);
  };
  return buildScores(b, local ? op.getLocalQuery() : op.getQuery(),
                     local ? op.getLocalKey() : op.getKey(), queries, keys, lags, op.scoreScale(),
                     triangle, decay);
}

/// O += P V, Z += P 1.
void PairProgram::add(TileBuilder &b, Accumulators &accumulators, Value scores, Value values,
                      tile::Triangle triangle, Value bound) {
  accumulators.numerator = b.dot(scores, values, accumulators.numerator, /*lhsTransposed=*/false,
                                 tile::Triangle::None, triangle, bound);
  if (accumulators.denominator)
    accumulators.denominator =
        b.add(accumulators.denominator, b.reduceColumns(scores, bound, triangle));
  if (accumulators.largest) {
    Value largest = b.reduceColumns(scores, bound, triangle, tile::ReduceKind::Max);
    accumulators.largest =
        b.map({accumulators.largest, largest}, [](ElementBuilder &e, ValueRange in) {
          return e.select(e.less(in[0], in[1]), in[1], in[0]);
        });
  }
}

void PairProgram::addBlocks(TileBuilder &b, VectorProgram &queries, Value from, Value to,
                            bool local, const BlockDecay &blockDecay, Value &between,
                            Accumulators &accumulators, KeySource source) {
  prepareScores(local ? op.getLocalQuery() : op.getQuery(), local ? op.getLocalKey() : op.getKey(),
                queries);
  SmallVector<Value> carried = {accumulators.numerator};
  if (accumulators.denominator)
    carried.push_back(accumulators.denominator);
  if (accumulators.largest)
    carried.push_back(accumulators.largest);
  if (between)
    carried.push_back(between);
  auto unpack = [](ValueRange values, Accumulators &accumulators, Value &between) {
    accumulators.numerator = values.front();
    size_t next = 1;
    for (Value *value : {&accumulators.denominator, &accumulators.largest, &between})
      if (*value)
        *value = values[next++];
  };

  // The last block is shorter where a run is no multiple of the block, as where another attend asks
  // for shorter blocks, and where the cache holds part of a run.
  bool isRagged = source == KeySource::Cached || (!local && context.run % context.block != 0);
  // The nearest block first, so that the decay between two blocks is a sum of few terms. Blocks
  // before the queries end with them, and are whole.
  bool isCausal = context.mask == Mask::Causal;
  Sweep sweep{from, to, context.blockOf(source),
              isCausal ? Direction::Backwards : Direction::Forwards, isCausal && !isRagged};
  auto perBlock = [&](const BlockSpan &span, ValueRange in) {
    Accumulators inner = accumulators;
    Value distance = between;
    unpack(in, inner, distance);
    Value bound = sweep.isWhole ? Value() : span.valid;
    VectorProgram keys = context.keyVectors(b, span.position, span.valid, source);
    Value values = keys.rowMajor(op.getValue());
    PairDecay pair;
    if (blockDecay) {
      BlockDecay theirs = gates.inBlock(b, span.position, span.valid, source);
      // All that lies between: the gates after the key, those of blocks, those up to the query.
      // Where the key comes later the gates after the query, those of blocks, those up to the key.
      pair.query.high = isCausal ? blockDecay.upToColumn(b) : blockDecay.afterColumn(b);
      Value keys = isCausal ? theirs.afterRow(b) : theirs.upToRow(b);
      pair.key.high = b.map({keys, distance}, [](ElementBuilder &e, ValueRange in) {
        return e.sub(e.constant(0), e.add(in[0], in[1]));
      });
      distance = b.add(distance, theirs.total(b));
    }
    add(b, inner, scores(b, queries, keys, local, tile::Triangle::None, pair), values,
        tile::Triangle::None, bound);
    TileBuilder::Values out = {inner.numerator};
    for (Value value : {inner.denominator, inner.largest, distance})
      if (value)
        out.push_back(value);
    return out;
  };
  unpack(sweep.forBlocks(b, carried, perBlock), accumulators, between);
}

/// The pairs of a block, those of rows with themselves last: the sums without them are multiplied
/// by the rows' vectors first.
void PairProgram::addDiagonalWithProducts(TileBuilder &b, VectorProgram &queries,
                                          Accumulators &accumulators, Value scores, Value values,
                                          Value bound) {
  Value columns = tile::IotaOp::create(b, b.tileType(1, context.block), b.index(0));
  Value rows = b.transpose(columns);
  auto where = [&](bool own) {
    return b.map({scores, rows, columns}, [&](ElementBuilder &e, ValueRange in) {
      Value differ = arith::CmpFOp::create(e, arith::CmpFPredicate::ONE, in[1], in[2]);
      Value zero = e.constant(0);
      return own ? e.select(differ, zero, in[0]) : e.select(differ, in[0], zero);
    });
  };
  add(b, accumulators, where(/*own=*/false), values, context.triangle(), bound);
  accumulators.products =
      b.reduceColumns(b.mul(accumulators.numerator, queries.rowMajor(op.getProducts())));
  if (op.getOutput().use_empty())
    return;
  Value own = b.reduceColumns(where(/*own=*/true));
  accumulators.numerator = b.add(accumulators.numerator, b.mul(values, own));
}

/// Pairs that are seen through scores: inside the block, and with blocks before it.
void PairProgram::addNear(TileBuilder &b, VectorProgram &queries, VectorProgram &keys, Value values,
                          Value diagonal, const BlockSpan &span, const BlockDecay &blockDecay,
                          Accumulators &accumulators) {
  Value between = blockDecay ? b.constant(1, 1, 0) : Value();
  bool hasRun = isLocal() && context.runsAreLong();
  // The keys on the block's side of the call; those of its run come first.
  Value begin = context.isForwards() ? span.position : b.addIndex(span.position, span.valid);
  Value end = !hasRun ? begin : context.isForwards() ? span.start : span.end;
  auto addBetween = [&](Value near, Value far, bool local) {
    addBlocks(b, queries, context.isForwards() ? far : near, context.isForwards() ? near : far,
              local, blockDecay, between, accumulators);
  };
  if (hasRun && !span.isOnly)
    addBetween(begin, end, /*local=*/true);
  if (span.cached)
    addBlocks(b, queries, b.index(0), span.cached, /*local=*/true, blockDecay, between,
              accumulators, KeySource::Cached);
  if (readsSegmentStart())
    addBetween(end, context.isForwards() ? context.chunk->begin : context.chunk->end,
               /*local=*/false);
  else if (!usesState && !span.isOnly)
    addBetween(end, context.isForwards() ? b.index(0) : context.frame.keys, /*local=*/false);
  PairDecay pairs = blockDecay.pairs(context.direction());
  diagonal = diagonal ? decayAndMask(b, diagonal, context.triangle(), pairs)
                      : scores(b, queries, keys, isLocal(), context.triangle(), pairs);
  // Before the diagonal there is no key past the end.
  Value bound = context.isForwards() ? Value() : span.valid;
  if (op.getProducts())
    addDiagonalWithProducts(b, queries, accumulators, diagonal, values, bound);
  else
    add(b, accumulators, diagonal, values, context.triangle(), bound);
}

/// Prepares scores inside of a block, for what comes before they are computed.
void PairProgram::prepare(VectorProgram &queries) {
  prepareScores(isLocal() ? op.getLocalQuery() : op.getQuery(),
                isLocal() ? op.getLocalKey() : op.getKey(), queries);
}

//===- PairProgram.cpp - pairs of an attend that go by scores -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairProgram.h"
#include "ScoreProgram.h"
#include "WeightSums.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace polyattn;

/// A pair of blocks, by the lags of its diagonals. With `of_keys` rows are keys, and lags go the
/// other way; so do distances under the anticausal mask.
struct PairProgram::Diagonals {
  PairProgram &pairs;
  TileBuilder &b;
  int64_t rows, columns;
  Value distance; // index: from the first column to the first row

  Diagonals(PairProgram &pairs, TileBuilder &b, const VectorProgram &queries,
            const VectorProgram &keys)
      : pairs(pairs), b(b), rows(queries.getColumns()), columns(keys.getColumns()),
        distance(b.subIndex(queries.getRows().rowOfCall, keys.getRows().rowOfCall)) {}

  tile::TileType tileType() { return b.tileType(rows, columns); }
  tile::TileType columnType() { return b.tileType(rows + columns - 1, 1); }
  /// The row of a buffer where the diagonals begin.
  Value firstRow(const LagRows &lags, bool transposed) {
    Value origin = transposed ? b.subIndex(b.index(0), distance) : distance;
    return lags.rowOf(b, b.subIndex(origin, b.index((transposed ? rows : columns) - 1)));
  }
  /// Whether lags of the table go from rows to columns.
  bool isTransposed() {
    return pairs.op.getMask() == Mask::Anticausal ||
           (pairs.op.getMask() == Mask::Full && pairs.op.getOfKeys());
  }
  /// Whether the table has distances, and rows see columns on both sides.
  bool hasBothSides(const LagTable &lags) {
    return pairs.op.getMask() == Mask::Full && !lags.isTwoSided;
  }
  /// `behind` where the row is before the column, `before` elsewhere.
  Value choose(Value before, Value behind) {
    Value row = b.transpose(tile::IotaOp::create(b, b.tileType(1, rows), distance));
    Value column = tile::IotaOp::create(b, b.tileType(1, columns), b.index(0));
    return b.map({before, behind, row, column}, [](ElementBuilder &e, ValueRange in) {
      return e.select(e.less(in[2], in[3]), in[1], in[0]);
    });
  }
};

Value PairProgram::lagScores(TileBuilder &b, RelativeOp relative, const VectorProgram &queries,
                             const VectorProgram &keys) {
  Diagonals pair(*this, b, queries, keys);
  LagRows lags = LagRows::of(op, relative.getLags());
  Value buffer = context.frame.lagScores(b, relative, lags);
  auto toeplitz = [&](bool transposed) -> Value {
    Value diagonals =
        tile::ReadOp::create(b, pair.columnType(), buffer, pair.firstRow(lags, transposed));
    return tile::ToeplitzOp::create(b, pair.tileType(), diagonals, transposed);
  };
  if (pair.hasBothSides(lags.lags))
    return pair.choose(toeplitz(/*transposed=*/false), toeplitz(/*transposed=*/true));
  return toeplitz(pair.isTransposed());
}

/// Adds scores to those of their lags. Rows and columns past the end are no pairs.
void PairProgram::addByLag(TileBuilder &b, Value scores, const VectorProgram &queries,
                           const VectorProgram &keys) {
  Diagonals pair(*this, b, queries, keys);
  LagRows lags = LagRows::of(op, op.getLagSlope().getLags());
  auto count = [&](Value number) -> Value {
    return tile::IotaOp::create(b, b.tileType(1, 1), number);
  };
  Value row = b.transpose(tile::IotaOp::create(b, b.tileType(1, pair.rows), b.index(0)));
  Value column = tile::IotaOp::create(b, b.tileType(1, pair.columns), b.index(0));
  scores = b.map({scores, row, column, count(queries.getRows().valid), count(keys.getRows().valid)},
                 [](ElementBuilder &e, ValueRange in) {
                   Value inside =
                       arith::AndIOp::create(e, e.less(in[1], in[3]), e.less(in[2], in[4]));
                   return e.select(inside, in[0], e.constant(0));
                 });
  Value buffer = context.passed.weightSums->lagSumsOf(op);
  auto add = [&](Value scores, bool transposed) {
    Value first = pair.firstRow(lags, transposed);
    Value sums = tile::DiagonalSumsOp::create(b, pair.columnType(), scores, transposed);
    Value old = tile::ReadOp::create(b, pair.columnType(), buffer, first);
    tile::WriteOp::create(b, b.add(old, sums), buffer, first);
  };
  if (!pair.hasBothSides(lags.lags))
    return add(scores, pair.isTransposed());
  Value none = b.constant(pair.rows, pair.columns, 0);
  add(pair.choose(scores, none), /*transposed=*/false);
  add(pair.choose(none, scores), /*transposed=*/true);
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
  auto partsOf = [](Accumulators &accumulators, Value &between) {
    SmallVector<Value *> parts;
    for (Value *part :
         {&accumulators.numerator, &accumulators.denominator, &accumulators.largest, &between})
      if (*part)
        parts.push_back(part);
    return parts;
  };
  auto pack = [&](Accumulators &accumulators, Value &between) {
    return llvm::map_to_vector(partsOf(accumulators, between), [](Value *part) { return *part; });
  };
  auto unpack = [&](ValueRange values, Accumulators &accumulators, Value &between) {
    for (auto [part, value] : llvm::zip(partsOf(accumulators, between), values))
      *part = value;
  };
  SmallVector<Value> carried = pack(accumulators, between);

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
    Value values = op.getLagSlope() ? Value() : keys.rowMajor(op.getValue());
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
    Value weights = scores(b, queries, keys, local, tile::Triangle::None, pair);
    if (op.getLagSlope())
      addByLag(b, weights, queries, keys);
    else
      add(b, inner, weights, values, tile::Triangle::None, bound);
    return TileBuilder::Values(pack(inner, distance));
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
    addBetween(end, context.isForwards() ? b.index(0) : context.frame.sequence.keys,
               /*local=*/false);
  PairDecay pairs = blockDecay.pairs(context.direction());
  diagonal = diagonal ? decayAndMask(b, diagonal, context.triangle(), pairs)
                      : scores(b, queries, keys, isLocal(), context.triangle(), pairs);
  // Before the diagonal there is no key past the end.
  Value bound = context.isForwards() ? Value() : span.valid;
  if (op.getLagSlope())
    addByLag(b, diagonal, queries, keys);
  else if (op.getProducts())
    addDiagonalWithProducts(b, queries, accumulators, diagonal, values, bound);
  else
    add(b, accumulators, diagonal, values, context.triangle(), bound);
}

/// Prepares scores inside of a block, for what comes before they are computed.
void PairProgram::prepare(VectorProgram &queries) {
  prepareScores(isLocal() ? op.getLocalQuery() : op.getQuery(),
                isLocal() ? op.getLocalKey() : op.getKey(), queries);
}

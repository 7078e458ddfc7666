//===- PairProgram.cpp - pairs of an attend that go by scores -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairProgram.h"
#include "ScoreProgram.h"
#include "WeightSums.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace polyattn;

/// The position `length` before another one, or the first one.
static Value positionBefore(TileBuilder &b, Value position, Value length) {
  return b.subIndex(position, b.minIndex(position, length));
}

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
  /// Those of the rows, [R x 1], and of the columns, [1 x C], from the first column on.
  std::pair<Value, Value> positions() {
    Value row = b.transpose(tile::IotaOp::create(b, b.tileType(1, rows), distance));
    return {row, tile::IotaOp::create(b, b.tileType(1, columns), b.index(0))};
  }
  /// `behind` where the row is before the column, `before` elsewhere.
  Value choose(Value before, Value behind) {
    auto [row, column] = positions();
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
void PairProgram::addByLag(TileBuilder &b, Value scores, const BlockPair &blockPair) {
  const VectorProgram &queries = blockPair.queries, &keys = blockPair.keys;
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

/// kappa of two blocks, which may be any number outside of the triangle.
Value PairProgram::scores(TileBuilder &b, const BlockPair &blockPair) {
  auto lags = [&](RelativeOp relative, const VectorProgram &queries, const VectorProgram &keys) {
    return lagScores(b, relative, queries, keys);
  };
  auto build = [&](bool local) {
    return buildScores(b, local ? op.getLocalQuery() : op.getQuery(),
                       local ? op.getLocalKey() : op.getKey(), blockPair.queries, blockPair.keys,
                       lags, op.scoreScale(), blockPair.triangle);
  };
  Value scores = build(blockPair.local);
  if (hasBothScores(blockPair.crossesWindow))
    return inWindow(b, scores, blockPair, /*otherwise=*/0, build(/*local=*/false));
  bool endsAtWindow = blockPair.crossesWindow && op.getSliding();
  return endsAtWindow ? inWindow(b, scores, blockPair, /*otherwise=*/0) : scores;
}

bool PairProgram::hasBothScores(bool crossesWindow) {
  return crossesWindow && op.getSliding() && !hasLocalPairsAlone(op);
}

std::optional<int64_t> PairProgram::windowLength() {
  if (op.getWindow())
    return int64_t(*op.getWindow());
  return op.getSliding() ? std::optional(int64_t(*op.getBlock())) : std::nullopt;
}

/// `scores` where a pair is inside of the window, and elsewhere the tile `others`, or `otherwise`
/// where that is null. Where rows see one side, their positions move by the window: f32 has numbers
/// near its edge exactly, however long it is.
Value PairProgram::inWindow(TileBuilder &b, Value scores, const BlockPair &blockPair,
                            double otherwise, Value others) {
  Diagonals pair(*this, b, blockPair.queries, blockPair.keys);
  int64_t window = *windowLength();
  if (context.isOrdered())
    pair.distance = b.addIndex(pair.distance, b.index(context.isForwards() ? -window : window));
  auto [row, column] = pair.positions();
  SmallVector<Value> inputs = {scores, row, column};
  if (others)
    inputs.push_back(others);
  return b.map(inputs, [&](ElementBuilder &e, ValueRange in) {
    Value isInside = !context.isOrdered()
                         ? e.less(e.magnitude(e.sub(in[1], in[2])), e.constant(double(window)))
                     : context.isForwards() ? e.less(in[1], in[2])
                                            : e.less(in[2], in[1]);
    return e.select(isInside, in[0], others ? in[3] : e.constant(otherwise));
  });
}

/// The mask chooses, it does not multiply: what is left out may be infinite.
Value PairProgram::masked(TileBuilder &b, Value weights, const BlockPair &blockPair) {
  if (blockPair.triangle != tile::Triangle::None)
    weights = tile::CausalMaskOp::create(b, weights.getType(), weights,
                                         /*upper=*/blockPair.triangle == tile::Triangle::Upper);
  if (!blockPair.crossesWindow || op.getSliding())
    return weights;
  return inWindow(b, weights, blockPair, /*otherwise=*/0);
}

/// The scores times their decay, zero where a pair is left out.
Value PairProgram::weights(TileBuilder &b, const BlockPair &blockPair, Value scores,
                           const PairDecay &decay) {
  return masked(b, decay ? decay.apply(b, scores) : scores, blockPair);
}

/// O += P V, Z += P 1.
void PairProgram::add(TileBuilder &b, Accumulators &accumulators, const BlockPair &blockPair,
                      Value weights, Value values) {
  accumulators.numerator = b.dot(weights, values, accumulators.numerator, /*lhsTransposed=*/false,
                                 tile::Triangle::None, blockPair.triangle, blockPair.bound);
  if (accumulators.denominator)
    accumulators.denominator = b.add(accumulators.denominator,
                                     b.reduceColumns(weights, blockPair.bound, blockPair.triangle));
}

static Value largerOf(TileBuilder &b, Value x, Value y) {
  return b.map({x, y}, [](ElementBuilder &e, ValueRange in) { return e.larger(in[0], in[1]); });
}

/// e^(x - y), y being the larger one.
static Value expOfDifference(TileBuilder &b, Value x, Value y) {
  return b.map({x, y}, [](ElementBuilder &e, ValueRange in) {
    return e.exponentialOfNegative(e.sub(in[0], in[1]));
  });
}

/// The larger one of `before` and each row's largest score of the block. Pairs outside of the
/// window count as `least`: their weight 0 may be more than all scores of the row.
Value PairProgram::largestOf(TileBuilder &b, Value before, Value scores, const BlockPair &blockPair,
                             double least) {
  bool leavesOut = blockPair.crossesWindow && !op.getSliding();
  Value seen = leavesOut ? inWindow(b, scores, blockPair, least) : scores;
  return largerOf(
      b, before, b.reduceColumns(seen, blockPair.bound, blockPair.triangle, tile::ReduceKind::Max));
}

/// The same with P = exp(scores - m), m the largest score that a row has met. What it has gathered
/// so far follows where m grows (Milakov and Gimelshein 2018, algorithm 3).
void PairProgram::addSoftmax(TileBuilder &b, Accumulators &accumulators, const BlockPair &blockPair,
                             Value scores, Value values) {
  Value before = accumulators.largest;
  accumulators.largest = largestOf(b, before, scores, blockPair, kLeastScore);
  Value growth = expOfDifference(b, before, accumulators.largest);
  accumulators.numerator = b.mul(accumulators.numerator, growth);
  accumulators.denominator = b.mul(accumulators.denominator, growth);
  Value weights = masked(b, expOfDifference(b, scores, accumulators.largest), blockPair);
  add(b, accumulators, blockPair, weights, values);
}

void PairProgram::addPairs(TileBuilder &b, Accumulators &accumulators, const BlockPair &blockPair,
                           Value scores, Value values, const PairDecay &decay) {
  if (isSoftmax())
    return addSoftmax(b, accumulators, blockPair, scores, values);
  Value weights = this->weights(b, blockPair, scores, decay);
  if (op.getLagSlope())
    return addByLag(b, weights, blockPair);
  add(b, accumulators, blockPair, weights, values);
  if (accumulators.largest)
    accumulators.largest = largestOf(b, accumulators.largest, weights, blockPair,
                                     -std::numeric_limits<double>::infinity());
}

void PairProgram::addBlocks(TileBuilder &b, VectorProgram &queries, const KeyBlocks &blocks,
                            const BlockDecay &blockDecay, Value &between,
                            Accumulators &accumulators) {
  prepareScores(blocks.local ? op.getLocalQuery() : op.getQuery(),
                blocks.local ? op.getLocalKey() : op.getKey(), queries);
  if (hasBothScores(blocks.crossesWindow))
    prepareScores(op.getQuery(), op.getKey(), queries);
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
  bool isRagged =
      blocks.source != KeySource::Call || (!blocks.local && context.run % context.block != 0);
  // The nearest block first, so that the decay between two blocks is a sum of few terms. Blocks
  // before the queries end with them, and are whole.
  bool isCausal = context.mask == Mask::Causal;
  Sweep sweep{blocks.from, blocks.to, context.blockOf(blocks.source),
              isCausal ? Direction::Backwards : Direction::Forwards, isCausal && !isRagged};
  if (blocks.source == KeySource::Ring)
    sweep = context.ring(blocks.from, blocks.to);
  auto perBlock = [&](const BlockSpan &span, ValueRange in) {
    Accumulators inner = accumulators;
    Value distance = between;
    unpack(in, inner, distance);
    VectorProgram keys = context.keyVectors(b, span.position, span.valid, blocks.source);
    Value values = op.getLagSlope() ? Value() : keys.rowMajor(op.getValue());
    PairDecay pair;
    if (blockDecay) {
      BlockDecay theirs = gates.inBlock(b, span.position, span.valid, blocks.source);
      // All that lies between: the gates after the key, those of blocks, those up to the query.
      // Where the key comes later the gates after the query, those of blocks, those up to the key.
      pair.query.high = isCausal ? blockDecay.upToColumn(b) : blockDecay.afterColumn(b);
      Value keys = isCausal ? theirs.afterRow(b) : theirs.upToRow(b);
      pair.key.high = b.map({keys, distance}, [](ElementBuilder &e, ValueRange in) {
        return e.sub(e.constant(0), e.add(in[0], in[1]));
      });
      distance = b.add(distance, theirs.total(b));
    }
    BlockPair blockPair{queries,
                        keys,
                        blocks.local,
                        tile::Triangle::None,
                        blocks.crossesWindow,
                        sweep.isWhole ? Value() : span.valid};
    addPairs(b, inner, blockPair, scores(b, blockPair), values, pair);
    return TileBuilder::Values(pack(inner, distance));
  };
  unpack(sweep.forBlocks(b, carried, perBlock), accumulators, between);
}

void PairProgram::addAll(TileBuilder &b, VectorProgram &queries, const BlockSpan &span,
                         Accumulators &accumulators) {
  Value keys = context.frame.sequence.keys, none;
  KeyBlocks all{b.index(0), keys};
  if (op.getWindow()) {
    // Where the keys of a window begin and end inside of blocks.
    Value reach = b.index(context.reachOf(*windowLength()).blocks * context.block);
    all.from = b.minIndex(positionBefore(b, span.position, reach), keys);
    Value length = b.index(context.block);
    all.to = b.minIndex(b.addIndex(b.addIndex(span.position, length), reach), keys);
    all.crossesWindow = true;
  }
  addBlocks(b, queries, all, BlockDecay(), none, accumulators);
}

/// The pairs of a block, those of rows with themselves last: the sums without them are multiplied
/// by the rows' vectors first.
void PairProgram::addDiagonalWithProducts(TileBuilder &b, Accumulators &accumulators,
                                          const BlockPair &blockPair, Value weights, Value values) {
  Value columns = tile::IotaOp::create(b, b.tileType(1, context.block), b.index(0));
  Value rows = b.transpose(columns);
  auto where = [&](bool own) {
    return b.map({weights, rows, columns}, [&](ElementBuilder &e, ValueRange in) {
      Value differ = arith::CmpFOp::create(e, arith::CmpFPredicate::ONE, in[1], in[2]);
      Value zero = e.constant(0);
      return own ? e.select(differ, zero, in[0]) : e.select(differ, in[0], zero);
    });
  };
  add(b, accumulators, blockPair, where(/*own=*/false), values);
  accumulators.products =
      b.reduceColumns(b.mul(accumulators.numerator, blockPair.queries.rowMajor(op.getProducts())));
  if (op.getOutput().use_empty())
    return;
  Value own = b.reduceColumns(where(/*own=*/true));
  accumulators.numerator = b.add(accumulators.numerator, b.mul(values, own));
}

/// Pairs with the keys of other blocks: the earlier ones, or with the mask anticausal the later
/// ones, as far as the window reaches. Beyond a window of local scores come the others, but for the
/// keys that a state has.
void PairProgram::addKeysBefore(TileBuilder &b, VectorProgram &queries, const BlockSpan &span,
                                const BlockDecay &blockDecay, Value &between,
                                Accumulators &accumulators) {
  bool isForwards = context.isForwards();
  Value near = isForwards ? span.position : b.addIndex(span.position, span.valid);
  bool slides = op.getSliding();
  auto addTo = [&](Value far, bool local, bool crossesWindow) {
    KeyBlocks blocks{isForwards ? far : near, isForwards ? near : far, local};
    blocks.crossesWindow = crossesWindow;
    addBlocks(b, queries, blocks, blockDecay, between, accumulators);
    near = far;
  };
  Value end = isForwards ? b.index(0) : context.frame.sequence.keys;
  std::optional<int64_t> window = windowLength();
  if (!window)
    return addTo(end, /*local=*/false, /*crossesWindow=*/false);
  WindowReach reach = context.reachOf(*window);
  auto behind = [&](Value position, int64_t blocks) {
    Value length = b.index(blocks * context.block);
    return isForwards ? positionBefore(b, position, length)
                      : b.minIndex(b.addIndex(position, length), end);
  };
  Value begin = near;
  if (reach.wholeBlocks)
    addTo(behind(begin, reach.wholeBlocks), slides, /*crossesWindow=*/false);
  if (reach.blocks > reach.wholeBlocks)
    addTo(behind(begin, reach.blocks), slides, /*crossesWindow=*/true);
  if (!slides || (usesState && !readsSegmentStart()) || hasLocalPairsAlone(op))
    return;
  // The state before a segment has the keys that are beyond the window of all its queries.
  if (readsSegmentStart())
    end = behind(isForwards ? context.chunk->begin : context.chunk->end, reach.blocks);
  addTo(end, /*local=*/false, /*crossesWindow=*/false);
}

/// Pairs with the positions of calls before that the window reaches. Where it slides in front of a
/// state, the first blocks of rows see all that the state lacks.
void PairProgram::addRing(TileBuilder &b, VectorProgram &queries, const BlockSpan &span,
                          Accumulators &accumulators) {
  Value calls = context.frame.sequence.before, none;
  KeyBlocks ring;
  ring.to = calls;
  ring.source = KeySource::Ring;
  if (!op.getSliding()) {
    Value reach = b.index(int64_t(*op.getWindow()) - 1);
    ring.from = positionBefore(b, b.addIndex(calls, span.position), reach);
    ring.crossesWindow = true;
  } else {
    ring.local = true;
    ring.from = context.firstBefore(b, int64_t(*op.getBlock()) - span.hasLeavingKey);
    ring.crossesWindow = !span.hasLeavingKey;
    if (!span.isOnly) {
      Value last = b.index(context.lastBlockOfRing(int64_t(*op.getBlock())));
      Value isSeen = b.compare(arith::CmpIPredicate::sle, span.position, last);
      ring.from = b.select(isSeen, ring.from, calls);
    }
  }
  addBlocks(b, queries, ring, BlockDecay(), none, accumulators);
}

/// Pairs that are seen through scores: inside the block, and with blocks before it.
void PairProgram::addNear(TileBuilder &b, VectorProgram &queries, VectorProgram &keys, Value values,
                          Value diagonal, const BlockSpan &span, const BlockDecay &blockDecay,
                          Accumulators &accumulators) {
  Value between = blockDecay ? b.constant(1, 1, 0) : Value();
  bool slides = op.getSliding(), hasRun = isLocal() && !slides && context.runsAreLong();
  // The keys on the block's side of the call; those of its run come first.
  Value begin = context.isForwards() ? span.position : b.addIndex(span.position, span.valid);
  Value end = !hasRun ? begin : context.isForwards() ? span.start : span.end;
  auto addBetween = [&](Value near, Value far, bool local) {
    KeyBlocks blocks{context.isForwards() ? far : near, context.isForwards() ? near : far, local};
    addBlocks(b, queries, blocks, blockDecay, between, accumulators);
  };
  if (hasRun && !span.isOnly)
    addBetween(begin, end, /*local=*/true);
  if (span.cached) {
    KeyBlocks cached{b.index(0), span.cached, /*local=*/true};
    cached.source = KeySource::Cached;
    addBlocks(b, queries, cached, blockDecay, between, accumulators);
  }
  bool isAlone = hasLocalPairsAlone(op);
  bool hasOthers = (slides || (!usesState && !isAlone)) && !span.isOnly;
  if (readsSegmentStart() && !slides)
    addBetween(end, context.isForwards() ? context.chunk->begin : context.chunk->end,
               /*local=*/false);
  else if (hasOthers && hasRun)
    addBetween(end, context.isForwards() ? b.index(0) : context.frame.sequence.keys,
               /*local=*/false);
  else if (hasOthers)
    addKeysBefore(b, queries, span, blockDecay, between, accumulators);
  if (KeepOp::ringWindowOf(op) && context.frame.sequence.before)
    addRing(b, queries, span, accumulators);
  // Before the diagonal there is no key past the end.
  BlockPair own{queries,
                keys,
                isLocal(),
                context.triangle(),
                windowLength().value_or(context.block) < context.block,
                context.isForwards() ? Value() : span.valid};
  if (!diagonal)
    diagonal = scores(b, own);
  PairDecay decay = blockDecay.pairs(context.direction());
  if (op.getProducts())
    addDiagonalWithProducts(b, accumulators, own, weights(b, own, diagonal, decay), values);
  else
    addPairs(b, accumulators, own, diagonal, values, decay);
}

/// Prepares scores inside of a block, for what comes before they are computed.
void PairProgram::prepare(VectorProgram &queries) {
  prepareScores(isLocal() ? op.getLocalQuery() : op.getQuery(),
                isLocal() ? op.getLocalKey() : op.getKey(), queries);
  if (op.getSliding())
    prepareScores(op.getQuery(), op.getKey(), queries);
}

//===- AttendBlock.cpp - one block of queries of an attention -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"
#include "Normalizer.h"

using namespace mlir;
using namespace polyattn;

Accumulators AttendProgram::zeroAccumulators(TileBuilder &b) const {
  Accumulators accumulators;
  accumulators.numerator = b.constant(context.block, valueWidth, 0);
  if (normalized())
    accumulators.denominator = b.constant(context.block, 1, 0);
  if (op.getNormalizer().needsRowMax())
    accumulators.largest = b.constant(context.block, 1, -std::numeric_limits<double>::infinity());
  return accumulators;
}

Value AttendProgram::scores(TileBuilder &b, VectorProgram &queries, VectorProgram &keys, bool local,
                            tile::Triangle triangle, const PairDecay &decay) {
  return buildScores(b, local ? op.getLocalQuery() : op.getQuery(),
                     local ? op.getLocalKey() : op.getKey(), queries, keys, op.scoreScale(),
                     triangle, decay);
}

/// O += P V, Z += P 1.
void AttendProgram::addPairs(TileBuilder &b, Accumulators &accumulators, Value scores, Value values,
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

/// phi_q S and phi_q z of some features; in the same pass over them the block's own scores, where
/// they come from features, and the update of the state, where nothing reads it in between. `sums`
/// are the numerator, the denominator if there is one, and these scores.
void AttendProgram::readRows(TileBuilder &b, const StateReading &reading, VectorProgram &queries,
                             FeatureBlocks &queryBlocks, BlockVectors &vectors,
                             const BlockSpan &span, SmallVector<Value> &sums) {
  StateProgram &state = *reading.state;
  BlockState &stored = state.getSums();
  const StateTerm &term = reading.term;
  bool rowMajor = readsRowsOfQueries(queryBlocks);
  bool updates = reading.updates && state.updatesWithBlock(span);
  bool hasDiagonal = context.isOrdered() && featuresOnDiagonal();

  Value filled = state.isFilled(b, span);
  Value valid = updates ? state.positionsToAdd(b, span) : Value();
  Value added = vectors.values;
  if (updates && state.getOp().getValue() != op.getValue())
    added = state.columnsOf(vectors.keys).rows;
  auto perBlock = [&](Value first, int64_t count, ValueRange in) {
    // The loop may have no iteration: what is formed in it is not there behind it.
    std::optional<VectorProgram> inside;
    if (context.chunk)
      inside.emplace(queries);
    VectorProgram &program = inside ? *inside : queries;
    LhsTile phiQ = rowMajor ? queryBlocks.rowMajor(b, program)
                            : LhsTile{queryBlocks.block(b, program, first, count)};
    Value feature = term.feature ? b.addIndex(first, b.index(term.feature)) : first;
    Value row = stored.rowOf(b, feature);
    // Sums that come with a product need its other factor before it.
    Value z = normalized() ? stored.readNormalizer(b, row, count) : Value();
    Value s = stored.readRows(b, row, count);
    Value terms = filled ? b.select(filled, b.index(count), b.index(0)) : Value();
    auto product = [&](Value lhs, Value rhs, Value acc, bool lhsTransposed) {
      return b.dot(lhs, rhs, acc, lhsTransposed, tile::Triangle::None, tile::Triangle::None, terms);
    };
    TileBuilder::Values out = {product(phiQ.tile, s, in[0], phiQ.transposed)};
    if (z)
      out.push_back(rowMajor ? product(phiQ.tile, z, in[1], phiQ.transposed)
                             : product(z, phiQ.tile, in[1], /*lhsTransposed=*/true));
    if (!updates && !hasDiagonal)
      return out;
    Value phiK = vectors.keyFeatures.block(b, vectors.keys, first, count);
    if (hasDiagonal)
      out.push_back(b.dot(phiQ.tile, phiK, in.back(), phiQ.transposed, context.triangle()));
    if (updates)
      stored.update(b, phiK, added, /*weights=*/Value(), first, valid, vectors.decay);
    return out;
  };
  FeatureRange range{term.features, schedule.featureBlock};
  sums = context.share->forBlocks(b, range, sums, perBlock);
}

/// Some features of the queries times the rows of a state transposed, [C x D]: as S q, transposed.
Value AttendProgram::readTransposed(TileBuilder &b, const StateReading &reading,
                                    VectorProgram &queries, FeatureBlocks &queryBlocks,
                                    const BlockSpan &span) {
  const StateTerm &term = reading.term;
  Value own = queryBlocks.block(b, queries, b.index(0), term.values);
  Value sums = reading.state->getSums().readRows(b, b.index(term.feature), term.features);
  Value filled = reading.state->isFilled(b, span);
  Value terms = filled ? b.select(filled, b.index(term.values), b.index(0)) : Value();
  return b.transpose(b.dot(sums, own, /*acc=*/Value(), /*lhsTransposed=*/false,
                           tile::Triangle::None, tile::Triangle::None, terms));
}

Accumulators AttendProgram::throughState(TileBuilder &b, VectorProgram &queries,
                                         BlockVectors &vectors, const BlockSpan &span,
                                         Value &diagonal) {
  bool rowMajor = readsRowsOfQueries(vectors.queryFeatures[0]);
  bool hasDiagonal = context.isOrdered() && featuresOnDiagonal();
  SmallVector<Value> sums = {b.constant(context.block, valueWidth, 0)};
  if (normalized())
    sums.push_back(rowMajor ? b.constant(context.block, 1, 0) : b.constant(1, context.block, 0));
  if (hasDiagonal)
    sums.push_back(b.constant(context.block, context.block, 0));
  for (auto [reading, features] : llvm::zip(readings, vectors.queryFeatures))
    if (!reading.term.isTransposed)
      readRows(b, reading, queries, features, vectors, span, sums);
  if (hasDiagonal)
    diagonal = sums.back();
  Accumulators accumulators;
  accumulators.numerator = sums[0];
  for (auto [reading, features] : llvm::zip(readings, vectors.queryFeatures))
    if (reading.term.isTransposed) {
      Value own = readTransposed(b, reading, queries, features, span);
      accumulators.numerator = readings.size() == 1 ? own : b.add(accumulators.numerator, own);
    }
  if (op.keepsStates()) {
    storeStateInRows(b, b.index(0), features(), span);
    if (normalized())
      storeNormalizerInRows(b, span);
  }
  if (normalized())
    accumulators.denominator = rowMajor ? sums[1] : b.transpose(sums[1]);
  return accumulators;
}

/// What came through the state has decayed since the sweep came to the segment or to the run of
/// blocks, or else to the block.
void AttendProgram::decayState(TileBuilder &b, Accumulators &accumulators, const BlockSpan &span,
                               const BlockDecay &blockDecay) {
  Value logarithm = decayOfReaders(b, blockDecay, context.direction());
  if (updatesAfterRun() || readsSegmentStart())
    logarithm = b.add(logarithm, runDecay(b, span));
  Value factor = expOf(b, logarithm);
  accumulators.numerator = b.mul(accumulators.numerator, factor);
  if (accumulators.denominator)
    accumulators.denominator = b.mul(accumulators.denominator, factor);
}

void AttendProgram::addBlocks(TileBuilder &b, VectorProgram &queries, Value from, Value to,
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
    addPairs(b, inner, scores(b, queries, keys, local, tile::Triangle::None, pair), values,
             tile::Triangle::None, bound);
    TileBuilder::Values out = {inner.numerator};
    for (Value value : {inner.denominator, inner.largest, distance})
      if (value)
        out.push_back(value);
    return out;
  };
  unpack(sweep.forBlocks(b, carried, perBlock), accumulators, between);
}

/// The decay of the blocks of this run, or segment, that the sweep has behind it, [1 x 1].
Value AttendProgram::runDecay(TileBuilder &b, const BlockSpan &span) {
  Value zero = b.constant(1, 1, 0);
  Value start = context.chunk ? context.chunk->begin : span.start;
  Sweep behind{start, span.position, context.block, Direction::Forwards, /*isWhole=*/true};
  if (!context.isForwards())
    behind = {b.addIndex(span.position, span.valid), context.chunk ? context.chunk->end : span.end,
              context.block};
  auto decayOf = [&](const Sweep &sweep, Value before, KeySource source) {
    return sweep.forBlocks(b, before, [&](const BlockSpan &span, ValueRange in) {
      Value own = gates.inBlock(b, span.position, span.valid, source).total(b);
      return TileBuilder::Values{b.add(in[0], own)};
    })[0];
  };
  Value total = decayOf(behind, zero, KeySource::Call);
  if (span.cached)
    total = decayOf(Sweep{b.index(0), span.cached, context.cachedBlock}, total, KeySource::Cached);
  return total;
}

/// The pairs of a block, those of rows with themselves last: the sums without them are multiplied
/// by the rows' vectors first.
void AttendProgram::addDiagonalWithProducts(TileBuilder &b, VectorProgram &queries,
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
  addPairs(b, accumulators, where(/*own=*/false), values, context.triangle(), bound);
  accumulators.products =
      b.reduceColumns(b.mul(accumulators.numerator, queries.rowMajor(op.getProducts())));
  if (op.getOutput().use_empty())
    return;
  Value own = b.reduceColumns(where(/*own=*/true));
  accumulators.numerator = b.add(accumulators.numerator, b.mul(values, own));
}

/// Pairs that are seen through scores: inside the block, and with blocks before it.
void AttendProgram::addNearPairs(TileBuilder &b, VectorProgram &queries, VectorProgram &keys,
                                 Value values, Value diagonal, const BlockSpan &span,
                                 const BlockDecay &blockDecay, Accumulators &accumulators) {
  Value between = blockDecay ? b.constant(1, 1, 0) : Value();
  bool hasRun = isLocal() && context.runsAreLong();
  // The keys on the block's side of the call; those of its run come first.
  Value begin = context.isForwards() ? span.position : b.addIndex(span.position, span.valid);
  Value end = !hasRun ? begin : context.isForwards() ? span.start : span.end;
  auto add = [&](Value near, Value far, bool local) {
    addBlocks(b, queries, context.isForwards() ? far : near, context.isForwards() ? near : far,
              local, blockDecay, between, accumulators);
  };
  if (hasRun && !span.isOnly)
    add(begin, end, /*local=*/true);
  if (span.cached)
    addBlocks(b, queries, b.index(0), span.cached, /*local=*/true, blockDecay, between,
              accumulators, KeySource::Cached);
  if (readsSegmentStart())
    add(end, context.isForwards() ? context.chunk->begin : context.chunk->end, /*local=*/false);
  else if (!usesState() && !span.isOnly)
    add(end, context.isForwards() ? b.index(0) : context.frame.keys, /*local=*/false);
  PairDecay pairs = blockDecay.pairs(context.direction());
  diagonal = diagonal ? decayAndMask(b, diagonal, context.triangle(), pairs)
                      : scores(b, queries, keys, isLocal(), context.triangle(), pairs);
  // Before the diagonal there is no key past the end.
  Value bound = context.isForwards() ? Value() : span.valid;
  if (op.getProducts())
    addDiagonalWithProducts(b, queries, accumulators, diagonal, values, bound);
  else
    addPairs(b, accumulators, diagonal, values, context.triangle(), bound);
}

/// Prepares scores inside of a block, for what comes before they are computed.
void AttendProgram::prepareScoresOf(VectorProgram &queries) {
  prepareScores(isLocal() ? op.getLocalQuery() : op.getQuery(),
                isLocal() ? op.getLocalKey() : op.getKey(), queries);
}

/// In a local kernel's first run, which may be all that there is of a call, no block of many reads
/// a state, and its queries need no features.
void AttendProgram::prepareQueryFeatures(TileBuilder &b, VectorProgram &queries,
                                         FeatureBlocks &features, const StateProgram &state,
                                         const BlockSpan &span) {
  if (readsRowsOfQueries(features))
    return;
  Value filled = state.updatesAfterRun() ? state.isFilled(b, span) : Value();
  if (!filled)
    return features.prepare(b, queries);
  // First what scores need as well: it is computed once for both.
  prepareScoresOf(queries);
  features.prepareIf(b, queries, filled);
}

BlockVectors AttendProgram::vectors(TileBuilder &b, VectorProgram &queries, const BlockSpan &span) {
  // Features of keys are those that the state adds up.
  static const FeaturePlan kNone;
  const StateProgram *state = readings.empty() ? nullptr : readings[0].state;
  BlockVectors vectors{context.keyVectors(b, span.position, span.valid),
                       Value(),
                       BlockDecay(),
                       {},
                       FeatureBlocks(state ? state->getKeyPlan() : kNone,
                                     state ? state->getKeyWeights() : std::vector<double>())};
  if (context.isOrdered()) {
    vectors.values = vectors.keys.rowMajor(op.getValue());
    vectors.decay = gates.inBlock(b, span.position, span.valid);
  }
  if (state && !contracted) {
    for (const StateReading &reading : readings) {
      vectors.queryFeatures.emplace_back(reading.queries, reading.weights);
      prepareQueryFeatures(b, queries, vectors.queryFeatures.back(), *reading.state, span);
    }
    bool updates = readings[0].updates && state->updatesWithBlock(span);
    if (updates || (context.isOrdered() && featuresOnDiagonal()))
      vectors.keyFeatures.prepare(b, vectors.keys);
  }
  if (partsTakeTurns())
    prepareScoresOf(queries);
  return vectors;
}

Accumulators AttendProgram::block(TileBuilder &b, VectorProgram &queries, BlockVectors &vectors,
                                  const BlockSpan &span) {
  VectorProgram &keys = vectors.keys;
  Value values = vectors.values, none;
  const BlockDecay &blockDecay = vectors.decay;
  if (!context.isOrdered()) {
    Accumulators accumulators = zeroAccumulators(b);
    if (contracted)
      accumulators = throughContractedState(b, queries, keys, span, blockDecay);
    else if (usesState())
      accumulators = throughState(b, queries, vectors, span, none);
    // A short call has all its pairs by scores.
    if (!usesState())
      addBlocks(b, queries, b.index(0), context.frame.keys, /*local=*/false, BlockDecay(), none,
                accumulators);
    else if (readsSegmentStart() && schedule.quadraticBelow)
      addBlocks(b, queries, context.chunk->begin, context.chunk->end, /*local=*/false, BlockDecay(),
                none, accumulators);
    return accumulators;
  }

  Accumulators accumulators = zeroAccumulators(b);
  Value diagonal;
  if (usesState()) {
    if (readsStatesInRows())
      accumulators = throughStatesInRows(b, queries, span);
    else if (contracted)
      accumulators = throughContractedState(b, queries, keys, span, blockDecay);
    else
      accumulators = throughState(b, queries, vectors, span, diagonal);
    if (blockDecay)
      decayState(b, accumulators, span, blockDecay);
  }
  if (!partsTakeTurns()) {
    addNearPairs(b, queries, keys, values, diagonal, span, blockDecay, accumulators);
    return accumulators;
  }
  // Scores do not come in parts: parts of one head take turns, block by block. The loop runs once
  // or not at all.
  Value mine = context.share->computesScores(b, span.position, context.block);
  Value times = b.select(mine, b.index(1), b.index(0));
  SmallVector<Value> carried = {accumulators.numerator};
  if (accumulators.denominator)
    carried.push_back(accumulators.denominator);
  auto results = b.loop(b.index(0), times, b.index(1), carried, [&](Value, ValueRange in) {
    Accumulators inner = accumulators;
    inner.numerator = in[0];
    if (inner.denominator)
      inner.denominator = in[1];
    addNearPairs(b, queries, keys, values, Value(), span, blockDecay, inner);
    TileBuilder::Values out = {inner.numerator};
    if (inner.denominator)
      out.push_back(inner.denominator);
    return out;
  });
  accumulators.numerator = results[0];
  if (accumulators.denominator)
    accumulators.denominator = results[1];
  return accumulators;
}

/// The number of the call's keys that each row sees, [C x 1], or where it is the same one [1 x 1].
Value AttendProgram::visibleKeys(TileBuilder &b, const BlockSpan &span) const {
  auto positions = [&](Value first) -> Value {
    return b.transpose(
        tile::IotaOp::create(b, b.tileType(1, context.block), context.share->rowOfCall(b, first)));
  };
  if (context.mask == Mask::Causal)
    return positions(b.addIndex(span.position, b.index(1)));
  Value all = tile::IotaOp::create(b, b.tileType(1, 1), context.frame.keys);
  if (context.mask == Mask::Full)
    return all;
  return b.sub(all, positions(span.position));
}

/// o = N over the denominator (NormalizerAttr).
Value AttendProgram::normalize(TileBuilder &b, const Accumulators &accumulators,
                               const BlockSpan &span, RowFactors *rowFactors) {
  bool mean = op.getNormalizer().isMean();
  RowNormalizer normalizer{op.getNormalizer(), Value(), /*hasEmptyRows=*/!context.isOrdered(),
                           /*hasInitialState=*/op.hasInitialState()};
  if (mean && context.mask == Mask::Causal && context.frame.firstPosition)
    normalizer.keysBefore = arith::SIToFPOp::create(b, b.getF32Type(), context.frame.firstPosition);
  if (!accumulators.denominator && !mean)
    return accumulators.numerator;
  RowScores rows;
  rows.sum = accumulators.denominator;
  if (mean || !context.isOrdered())
    rows.keys = visibleKeys(b, span);
  rows.largest = accumulators.largest;
  if (rowFactors && normalizer.hasSlope())
    rows.total = normalizer.totals(b, rows);
  Value factors = normalizer.factors(b, rows);
  if (rowFactors) {
    // Where all rows see the same number of keys it is one factor.
    Value ofRows = b.typeOf(factors).getRows() == context.block
                       ? factors
                       : b.mul(b.constant(context.block, 1, 1), factors);
    *rowFactors = {ofRows, ofRows};
    if (!accumulators.denominator)
      rowFactors->ofDenominator = b.constant(context.block, 1, 0);
    else if (rows.total)
      rowFactors->ofDenominator = normalizer.factorsOfScores(b, rows, ofRows);
  }
  return b.mul(accumulators.numerator, factors);
}

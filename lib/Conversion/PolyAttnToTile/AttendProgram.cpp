//===- AttendProgram.cpp - one attention inside a tile kernel -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"
#include "StatesInRows.h"

using namespace mlir;
using namespace polyattn;

AttendProgram::AttendProgram(AttendOp op, const Schedule &schedule,
                             std::vector<StateReading> readings, const ProgramContext &context)
    : op(op), schedule(schedule), context(context), gates(op, context),
      pairs(op, schedule.form != ScheduleForm::Quadratic, context),
      valueWidth(op.getValue().getType().getWidth()), readings(std::move(readings)) {
  if (!usesState())
    return;
  if (schedule.contracted)
    contracted.emplace(op, this->readings);
  else
    planQueries();
}

void AttendProgram::planQueries() {
  queryPlan = planFeatures(op.getQuery());
  for (const Monomial &feature : queryPlan.monomials)
    queryWeights.push_back(op.scoreScale() * feature.weight);
  for (StateReading &reading : readings) {
    const StateTerm &term = reading.term;
    // The sums may lack the weights of their features.
    for (int64_t i = 0; i < term.rows(); ++i)
      queryWeights[term.row + i] *= term.factor * reading.state->getKeys().missingOf(
                                                      term.feature + (term.isTransposed ? 0 : i));
    reading.queries = readings.size() == 1 ? queryPlan : partOf(queryPlan, term.row, term.rows());
    auto first = queryWeights.begin() + term.row;
    reading.weights.assign(first, first + term.rows());
  }
}

StateProgram *AttendProgram::getState() const {
  return readings.size() == 1 && readings[0].term.isWhole() ? readings[0].state : nullptr;
}

Accumulators AttendProgram::zeroAccumulators(TileBuilder &b) const {
  Accumulators accumulators;
  if (op.getLagSlope()) // whose sums are not of rows
    return accumulators;
  accumulators.numerator = b.constant(context.block, valueWidth, 0);
  if (normalized())
    accumulators.denominator = b.constant(context.block, 1, 0);
  if (op.getNormalizer().needsRowMax())
    accumulators.largest = b.constant(context.block, 1, -std::numeric_limits<double>::infinity());
  if (op.getNormalizer().isSoftmax())
    accumulators.largest = b.constant(context.block, 1, kLeastScore);
  return accumulators;
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

/// The same where pairs inside of the block have no score of their own: the state's op says what
/// the queries have of them, too.
void AttendProgram::readAndAdd(TileBuilder &b, const StateReading &reading, VectorProgram &queries,
                               FeatureBlocks &queryBlocks, BlockVectors &vectors,
                               const BlockSpan &span, SmallVector<Value> &sums) {
  StateProgram &state = *reading.state;
  Value filled = state.isFilled(b, span), added;
  if (reading.updates && state.updatesWithBlock(span))
    added = state.positionsToAdd(b, span);
  StateColumns columns{vectors.values, Value()};
  KeyBlock block{span.position, span.valid};
  auto perBlock = [&](Value first, int64_t count, ValueRange in) {
    RowsInBlock rows{first, queryBlocks.block(b, queries, first, count),
                     vectors.keyFeatures.block(b, vectors.keys, first, count)};
    BlockSums before{in[0], normalized() ? in[1] : Value()};
    BlockSums after = pairsOfFeatures()->readAndAdd(b, state.getSums(), rows, columns, block,
                                                    filled, added, before);
    TileBuilder::Values out = {after.numerator};
    if (after.denominator)
      out.push_back(after.denominator);
    return out;
  };
  FeatureRange range{reading.term.features, schedule.featureBlock};
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
  if (contracted)
    return contracted->throughState(b, context, readings, schedule.featureBlock, queries,
                                    vectors.keys, span, vectors.decay);
  bool rowMajor = readsRowsOfQueries(vectors.queryFeatures[0]);
  bool hasDiagonal = context.isOrdered() && featuresOnDiagonal() && !pairsOfFeatures();
  SmallVector<Value> sums = {b.constant(context.block, valueWidth, 0)};
  if (normalized())
    sums.push_back(rowMajor ? b.constant(context.block, 1, 0) : b.constant(1, context.block, 0));
  if (hasDiagonal)
    sums.push_back(b.constant(context.block, context.block, 0));
  for (auto [reading, features] : llvm::zip(readings, vectors.queryFeatures))
    if (pairsOfFeatures())
      readAndAdd(b, reading, queries, features, vectors, span, sums);
    else if (!reading.term.isTransposed)
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
    StatesInRows rows(op, context);
    rows.store(b, getState()->getSums(), b.index(0), features(), span);
    if (normalized())
      rows.storeNormalizer(b, getState()->getSums(), span);
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
  if (updatesAfterRun() || pairs.readsSegmentStart())
    logarithm = b.add(logarithm, runDecay(b, span));
  Value factor = expOf(b, logarithm);
  accumulators.numerator = b.mul(accumulators.numerator, factor);
  if (accumulators.denominator)
    accumulators.denominator = b.mul(accumulators.denominator, factor);
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
  pairs.prepare(queries);
  features.prepareIf(b, queries, filled);
}

BlockVectors AttendProgram::vectors(TileBuilder &b, VectorProgram &queries, VectorProgram &keys,
                                    const BlockSpan &span) {
  // Features of keys are those that the state adds up.
  static const FeaturePlan kNone;
  const StateProgram *state = readings.empty() ? nullptr : readings[0].state;
  FeatureBlocks keyFeatures = state ? state->getKeys().blocks() : FeatureBlocks(kNone, {});
  std::vector<FeatureBlocks> queryFeatures;
  Value values;
  BlockDecay decay;
  if (context.isOrdered()) {
    if (!op.getLagSlope())
      values = keys.rowMajor(op.getValue());
    decay = gates.inBlock(b, span.position, span.valid);
  }
  if (state && !contracted) {
    for (const StateReading &reading : readings) {
      queryFeatures.emplace_back(reading.queries, reading.weights);
      prepareQueryFeatures(b, queries, queryFeatures.back(), *reading.state, span);
    }
    bool updates = readings[0].updates && state->updatesWithBlock(span);
    if (updates || (context.isOrdered() && featuresOnDiagonal()))
      keyFeatures.prepare(b, keys);
  }
  if (partsTakeTurns())
    pairs.prepare(queries);
  // A copy, because what the attend computes in loops of its own is known only there.
  return {keys, values, decay, std::move(queryFeatures), std::move(keyFeatures)};
}

Accumulators AttendProgram::block(TileBuilder &b, VectorProgram &queries, BlockVectors &vectors,
                                  const BlockSpan &span) {
  VectorProgram &keys = vectors.keys;
  Value values = vectors.values, none;
  const BlockDecay &blockDecay = vectors.decay;
  if (!context.isOrdered()) {
    Accumulators accumulators = zeroAccumulators(b);
    if (usesState())
      accumulators = throughState(b, queries, vectors, span, none);
    // A short call has all its pairs by scores.
    if (!usesState())
      pairs.addAll(b, queries, span, accumulators);
    else if (pairs.readsSegmentStart() && schedule.quadraticBelow)
      pairs.addBlocks(b, queries, {context.chunk->begin, context.chunk->end}, BlockDecay(), none,
                      accumulators);
    return accumulators;
  }

  Accumulators accumulators = zeroAccumulators(b);
  Value diagonal;
  if (usesState()) {
    if (readsStatesInRows())
      accumulators.numerator =
          StatesInRows(op, context).read(b, queries, queryPlan, queryWeights, span);
    else
      accumulators = throughState(b, queries, vectors, span, diagonal);
    if (blockDecay)
      decayState(b, accumulators, span, blockDecay);
  }
  if (pairsOfFeatures())
    return accumulators;
  if (!partsTakeTurns()) {
    pairs.addNear(b, queries, keys, values, diagonal, span, blockDecay, accumulators);
    return accumulators;
  }
  // The programs of a head split the features, but not the scores: each block's scores are computed
  // by one of them in turn. The loop runs once or not at all.
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
    pairs.addNear(b, queries, keys, values, Value(), span, blockDecay, inner);
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

//===- TokenAttend.cpp - one attend in a call of one token ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenAttend.h"

using namespace mlir;
using namespace polyattn;

void TokenAttend::storeFeatures(TileBuilder &b, FeatureBlocks blocks, Value tensor, Value head,
                                VectorProgram &vectors) {
  blocks.prepare(b, vectors);
  program.getState()->getSums().forFeatureBlocks(
      b, {}, [&](Value first, int64_t count, ValueRange) {
        Value features = b.transpose(blocks.block(b, vectors, first, count));
        tile::StoreOp::create(b, features, tensor,
                              ValueRange{context.frame.sequence.batch, head, first},
                              vectors.getRows().valid, /*row_dim=*/0, /*col_dim=*/2);
        return TileBuilder::Values();
      });
}

void TokenAttend::storeQueries(TileBuilder &b, const StepVectors &stored, VectorProgram &vectors) {
  storeFeatures(b, program.queryFeatures(), stored.query, context.frame.heads.query(), vectors);
}

void TokenAttend::storeKeys(TileBuilder &b, const StepVectors &stored, VectorProgram &vectors) {
  const KernelFrame &frame = context.frame;
  storeFeatures(b, program.getState()->getKeys().blocks(), stored.key, frame.heads.key(), vectors);
  tile::StoreOp::create(b, vectors.rowMajor(op.getValue()), stored.value,
                        ValueRange{frame.sequence.batch, frame.heads.key(), b.index(0)},
                        vectors.getRows().valid,
                        /*row_dim=*/0, /*col_dim=*/2);
}

/// The last dimension of a tensor, whose other indices are `at`.
static Value loadRow(TileBuilder &b, Value tensor, ArrayRef<Value> at, int64_t width) {
  SmallVector<Value> indices(at);
  indices.push_back(b.index(0));
  return tile::LoadOp::create(b, b.tileType(1, width), tensor, indices, Value(), /*row_dim=*/-1,
                              /*col_dim=*/at.size(), /*transposed=*/false);
}

/// z <- g z + k where it lives; gives the new z, [1 x D].
Value TokenAttend::stepNormalizer(TileBuilder &b, Value before, Value keys, Value factor,
                                  const StoredState &stored) const {
  SmallVector<Value> inputs = {before, keys};
  if (factor)
    inputs.push_back(factor);
  Value normalizer = b.map(inputs, [&](ElementBuilder &e, ValueRange in) {
    return e.add(in.size() > 2 ? e.mul(in[0], in[2]) : in[0], in[1]);
  });
  SmallVector<Value> at(ArrayRef<Value>(stored.at));
  at.push_back(b.index(0));
  tile::StoreOp::create(b, normalizer, stored.normalizer, at, Value(), /*row_dim=*/-1,
                        /*col_dim=*/stored.at.size());
  return normalizer;
}

/// All features as a row, [1 x D].
Value TokenAttend::featureRow(TileBuilder &b, FeatureBlocks blocks, VectorProgram &vectors) const {
  blocks.prepare(b, vectors);
  return b.transpose(blocks.block(b, vectors, b.index(0), program.features()));
}

void TokenAttend::computeQueries(TileBuilder &b, StepVectors &rows, VectorProgram &vectors) const {
  rows.query = featureRow(b, program.queryFeatures(), vectors);
}

void TokenAttend::computeKeys(TileBuilder &b, StepVectors &rows, VectorProgram &vectors) const {
  rows.key = featureRow(b, program.getState()->getKeys().blocks(), vectors);
  rows.value = vectors.rowMajor(op.getValue());
}

void TokenAttend::computeLeavingKey(TileBuilder &b, StepVectors &rows) const {
  Value zero = b.index(0), one = b.index(1), calls = context.frame.sequence.before;
  Value window = b.index(int64_t(*op.getBlock()));
  // Without such a key nothing is read: what the ring has there may be no number, or be written
  // now.
  Value isThere = b.compare(arith::CmpIPredicate::sge, calls, window);
  SmallVector<Value> none = {b.constant(1, program.features(), 0), b.constant(1, width, 0)};
  auto found = b.loop(zero, b.select(isThere, one, zero), one, none, [&](Value, ValueRange) {
    Value leaving = b.subIndex(calls, window);
    VectorProgram keys = context.frame.keyVectors(b, context.ringRows(b, leaving, one), 1);
    StepVectors own;
    computeKeys(b, own, keys);
    return TileBuilder::Values{own.key, own.value};
  });
  rows.key = found[0];
  rows.value = found[1];
}

void TokenAttend::loadQueries(TileBuilder &b, StepVectors &rows, const StepVectors &stored) const {
  rows.query = loadRow(b, stored.query, {context.frame.sequence.batch, context.frame.heads.query()},
                       program.features());
}

void TokenAttend::loadKeys(TileBuilder &b, StepVectors &rows, const StepVectors &stored) const {
  const KernelFrame &frame = context.frame;
  rows.key = loadRow(b, stored.key, {frame.sequence.batch, frame.heads.key()}, program.features());
  rows.value = loadRow(b, stored.value, {frame.sequence.batch, frame.heads.key()}, width);
}

/// What a query has of the state, as it was before these keys come into it, or then.
Accumulators TokenAttend::stepState(TileBuilder &b, const StepVectors &rows,
                                    const FinalState &place, bool before) const {
  StoredState stored = program.getState()->tensors().at(place);
  Value factor = rows.key ? program.getState()->getUpdate().factorOfToken(b) : Value();
  Accumulators sums;
  if (place.normalizer) {
    Value old = loadRow(b, stored.normalizer, stored.at, program.features()), normalizer = old;
    if (before)
      sums.denominator = b.reduceColumns(b.mul(rows.query, old));
    if (rows.key)
      normalizer = stepNormalizer(b, old, rows.key, factor, stored);
    if (!before)
      sums.denominator = b.reduceColumns(b.mul(rows.query, normalizer));
  }
  SmallVector<Value> at(ArrayRef<Value>(stored.at));
  at.append(2, b.index(0));
  sums.numerator = tile::RecurOp::create(b, b.tileType(1, width), rows.query, rows.key, rows.value,
                                         stored.rows, at, factor, /*acc=*/Value(),
                                         /*before=*/before && rows.key);
  return sums;
}

Accumulators TokenAttend::step(TileBuilder &b, const StepVectors &rows,
                               const FinalState &place) const {
  return stepState(b, rows, place, /*before=*/false);
}

/// The same where each feature decays by itself: what the query has of the state decays feature by
/// feature, and its own pair has no score but the sum over features.
Accumulators TokenAttend::stepDecayed(TileBuilder &b, const StepVectors &rows,
                                      const FinalState &place, VectorProgram &keys,
                                      Value values) const {
  StepVectors decayed = rows;
  decayed.query = b.mul(rows.query, program.getState()->getUpdate().factorOfToken(b));
  Accumulators sums = stepState(b, decayed, place, /*before=*/true);
  Value own = featureRow(b, program.getState()->getKeys().blocks(), keys);
  Value score = b.reduceColumns(b.mul(rows.query, own));
  sums.numerator = b.add(sums.numerator, b.mul(values, score));
  if (sums.denominator)
    sums.denominator = b.add(sums.denominator, score);
  return sums;
}

Accumulators TokenAttend::stepBefore(TileBuilder &b, const StepVectors &rows,
                                     const FinalState &place, VectorProgram &queries,
                                     const BlockSpan &span) {
  VectorProgram keys = context.keyVectors(b, span.position, span.valid);
  Value values = keys.rowMajor(op.getValue());
  if (op.hasDecayOfFeatures())
    return stepDecayed(b, rows, place, keys, values);
  BlockDecay blockDecay = gates.inBlock(b, span.position, span.valid);
  Accumulators sums = stepState(b, rows, place, /*before=*/true);
  if (blockDecay)
    program.decayState(b, sums, span, blockDecay);
  program.getPairs().addNear(b, queries, keys, values, /*diagonal=*/Value(), span, blockDecay,
                             sums);
  return sums;
}

/// Adds the token's pair with itself, and those with a ring.
void TokenAttend::addNear(TileBuilder &b, VectorProgram &queries, const BlockSpan &span,
                          Accumulators &sums) {
  VectorProgram keys = context.keyVectors(b, span.position, span.valid);
  Value values = keys.rowMajor(op.getValue());
  program.getPairs().addNear(b, queries, keys, values, /*diagonal=*/Value(), span, BlockDecay(),
                             sums);
}

Accumulators TokenAttend::stepWindow(TileBuilder &b, const StepVectors &rows,
                                     const FinalState &place, VectorProgram &queries,
                                     const BlockSpan &span) {
  Accumulators sums = stepState(b, rows, place, /*before=*/!span.hasLeavingKey);
  addNear(b, queries, span, sums);
  return sums;
}

Accumulators TokenAttend::scoreWindow(TileBuilder &b, VectorProgram &queries,
                                      const BlockSpan &span) {
  Accumulators sums = program.zeroAccumulators(b);
  addNear(b, queries, span, sums);
  return sums;
}

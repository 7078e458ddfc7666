//===- AttendStep.cpp - one attend in a call of one token -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What TokenKernels.cpp asks of each attend: features of a token, or of a token of many batches, and
// what its query has of a state that is updated where it lives.
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"

using namespace mlir;
using namespace polyattn;

void AttendProgram::storeFeatures(TileBuilder &b, const FeaturePlan &plan,
                                  const std::vector<double> &weights, Value tensor, Value head,
                                  VectorProgram &program) {
  FeatureBlocks blocks(plan, weights);
  blocks.prepare(b, program);
  getState()->getSums().forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    Value features = b.transpose(blocks.block(b, program, first, count));
    tile::StoreOp::create(b, features, tensor, ValueRange{context.frame.batch, head, first},
                          program.getRows().valid, /*row_dim=*/0, /*col_dim=*/2);
    return TileBuilder::Values();
  });
}

void AttendProgram::storeQueries(TileBuilder &b, const StepVectors &vectors,
                                 VectorProgram &program) {
  storeFeatures(b, queryPlan, queryWeights, vectors.query, context.frame.head, program);
}

void AttendProgram::storeKeys(TileBuilder &b, const StepVectors &vectors, VectorProgram &program) {
  const KernelFrame &frame = context.frame;
  storeFeatures(b, getState()->getKeyPlan(), getState()->getKeyWeights(), vectors.key, frame.kvHead,
                program);
  tile::StoreOp::create(b, program.rowMajor(op.getValue()), vectors.value,
                        ValueRange{frame.batch, frame.kvHead, b.index(0)}, program.getRows().valid,
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
Value AttendProgram::stepNormalizer(TileBuilder &b, Value before, Value keys, Value factor,
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
Value AttendProgram::featureRow(TileBuilder &b, const FeaturePlan &plan,
                                const std::vector<double> &weights, VectorProgram &program) const {
  FeatureBlocks blocks(plan, weights);
  blocks.prepare(b, program);
  return b.transpose(blocks.block(b, program, b.index(0), features()));
}

void AttendProgram::computeQueries(TileBuilder &b, StepVectors &rows,
                                   VectorProgram &program) const {
  rows.query = featureRow(b, queryPlan, queryWeights, program);
}

void AttendProgram::computeKeys(TileBuilder &b, StepVectors &rows, VectorProgram &program) const {
  rows.key = featureRow(b, getState()->getKeyPlan(), getState()->getKeyWeights(), program);
  AttendOp attend = op;
  rows.value = program.rowMajor(attend.getValue());
}

void AttendProgram::loadQueries(TileBuilder &b, StepVectors &rows,
                                const StepVectors &stored) const {
  rows.query = loadRow(b, stored.query, {context.frame.batch, context.frame.head}, features());
}

void AttendProgram::loadKeys(TileBuilder &b, StepVectors &rows, const StepVectors &stored) const {
  const KernelFrame &frame = context.frame;
  rows.key = loadRow(b, stored.key, {frame.batch, frame.kvHead}, features());
  rows.value = loadRow(b, stored.value, {frame.batch, frame.kvHead}, valueWidth);
}

/// What a query has of the state, as it was before these keys come into it, or then.
Accumulators AttendProgram::stepState(TileBuilder &b, const StepVectors &rows,
                                      const FinalState &place, bool before) const {
  StoredState stored = getState()->at(place);
  Value factor = rows.key ? gates.ofToken(b) : Value();
  Accumulators sums;
  if (place.normalizer) {
    Value old = loadRow(b, stored.normalizer, stored.at, features()), normalizer = old;
    if (before)
      sums.denominator = b.reduceColumns(b.mul(rows.query, old));
    if (rows.key)
      normalizer = stepNormalizer(b, old, rows.key, factor, stored);
    if (!before)
      sums.denominator = b.reduceColumns(b.mul(rows.query, normalizer));
  }
  SmallVector<Value> at(ArrayRef<Value>(stored.at));
  at.append(2, b.index(0));
  sums.numerator = tile::RecurOp::create(b, b.tileType(1, valueWidth), rows.query, rows.key,
                                         rows.value, stored.rows, at, factor, /*acc=*/Value(),
                                         /*before=*/before && rows.key);
  return sums;
}

Accumulators AttendProgram::step(TileBuilder &b, const StepVectors &rows,
                                 const FinalState &place) const {
  return stepState(b, rows, place, /*before=*/false);
}

Accumulators AttendProgram::stepBefore(TileBuilder &b, const StepVectors &rows,
                                       const FinalState &place, VectorProgram &queries,
                                       const BlockSpan &span) {
  VectorProgram keys = context.keyVectors(b, span.position, span.valid);
  Value values = keys.rowMajor(op.getValue());
  BlockDecay blockDecay = gates.inBlock(b, span.position, span.valid);
  Accumulators sums = stepState(b, rows, place, /*before=*/true);
  if (blockDecay)
    decayState(b, sums, span, blockDecay);
  addNearPairs(b, queries, keys, values, /*diagonal=*/Value(), span, blockDecay, sums);
  return sums;
}

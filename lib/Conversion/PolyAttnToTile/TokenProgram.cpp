//===- TokenProgram.cpp - programs of calls of few tokens -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenProgram.h"
#include "PlacedStates.h"

using namespace mlir;
using namespace polyattn;

/// Rows of zeros that a step stores at a time.
static constexpr int64_t kRowsOfZeros = 16;

StepVectors TokenProgram::stepVectors(unsigned attend) const {
  unsigned next = 0; // attends without a state have none
  for (AttendOp other : ArrayRef(info.attends).take_front(attend))
    next += other.getState() ? 3 : 0;
  const KernelFrame &frame = context.frame;
  return {frame.workspace(next), frame.workspace(next + 1), frame.workspace(next + 2)};
}

/// The results that are an attend's final state and its normalizer.
FinalState TokenProgram::placeOf(AttendOp attend) const {
  FinalState place;
  for (const auto &[number, value] : info.outputs)
    if (value.getDefiningOp() == attend && value != attend.getOutput())
      (value == attend.getFinalStates().front() ? place.rows : place.normalizer) =
          context.frame.result(number);
  return place;
}

/// The batches from `first` on that a program of the vectors' kernel would have.
Value TokenProgram::batchesFrom(TileBuilder &b, Value first) const {
  Value all = memref::DimOp::create(b, stepVectors(0).query, b.index(0));
  return b.minIndex(b.subIndex(all, first), b.index(StepsAttr::kBatchesPerProgram));
}

Value TokenProgram::hasVectors(TileBuilder &b) const {
  Value tensor = context.frame.kernel.getTensor(info.tensors.queryTensor);
  Value positions = memref::DimOp::create(b, tensor, b.index(1));
  int64_t oneByOne = info.steps().getOneByOne();
  Value isOne = b.isEqual(positions, b.index(1));
  if (!info.tensors.lengths)
    return isOne;
  if (oneByOne == 1)
    return b.compare(arith::CmpIPredicate::sge, positions, b.index(1));
  Value isLonger = b.compare(arith::CmpIPredicate::sgt, positions, b.index(oneByOne));
  return arith::OrIOp::create(b, isOne, isLonger);
}

void TokenProgram::buildVectors(TileBuilder &b) {
  KernelFrame &frame = context.frame;
  Value zero = b.index(0), valid = batchesFrom(b, frame.sequence.batch);
  BlockRows rows{zero, zero, Value(), valid};
  rows.ofBatches = true;
  VectorProgram queries = frame.queryVectors(b, rows, StepsAttr::kBatchesPerProgram);
  for (auto [i, program] : llvm::enumerate(programs))
    if (program.getState())
      TokenAttend(program).storeQueries(b, stepVectors(i), queries);
  b.branch(frame.heads.isFirstOfGroup(b), [&] {
    VectorProgram keys = frame.keyVectors(b, rows, StepsAttr::kBatchesPerProgram);
    for (auto [i, program] : llvm::enumerate(programs))
      if (program.getState())
        TokenAttend(program).storeKeys(b, stepVectors(i), keys);
  });
}

void TokenProgram::computeKeys(TileBuilder &b, MutableArrayRef<StepVectors> rows,
                               TokenFeatures features) {
  BlockRows only = context.rows(b, b.index(0), b.index(1));
  VectorProgram keys = context.frame.keyVectors(b, only, 1);
  for (auto [i, program] : llvm::enumerate(programs)) {
    if (!program.getState())
      continue;
    TokenAttend attend(program);
    if (program.getOp().getSliding())
      attend.computeLeavingKey(b, rows[i]);
    else if (features == TokenFeatures::Loaded)
      attend.loadKeys(b, rows[i], stepVectors(i));
    else
      attend.computeKeys(b, rows[i], keys);
  }
}

/// The results of these heads.
void TokenProgram::stepOtherHeads(TileBuilder &b, TokenFeatures features) {
  if (info.tensors.sameHeads || stepsEachHead())
    return;
  context.frame.heads.forOthers(b, [&] {
    SmallVector<StepVectors> others(programs.size());
    stepHead(b, others, features);
  });
}

/// The states and the results of one token, for all query heads that share them: those that only
/// read a state do so as it is wanted, after its update or before it.
void TokenProgram::stepToken(TileBuilder &b, TokenFeatures features) {
  SmallVector<StepVectors> rows(programs.size());
  bool isReadBefore = info.readsStatesFirst();
  if (isReadBefore)
    stepOtherHeads(b, features);
  if (!context.frame.sequence.cached)
    computeKeys(b, rows, features);
  stepHead(b, rows, features);
  if (!isReadBefore)
    stepOtherHeads(b, features);
  if (context.frame.sequence.cached)
    takeInFullBlock(b);
}

/// The results of the query head at hand, which updates states where `rows` have keys.
void TokenProgram::stepHead(TileBuilder &b, MutableArrayRef<StepVectors> rows,
                            TokenFeatures features) {
  Value zero = b.index(0), one = b.index(1);
  BlockSpan span{zero, one, zero, one, /*isOnly=*/true, context.frame.sequence.cached};
  bool isReadBefore = info.readsStatesFirst();
  span.hasLeavingKey = !isReadBefore;
  VectorProgram queries = context.queryVectors(b, span);
  SmallVector<Accumulators> sums;
  for (auto [i, program] : llvm::enumerate(programs)) {
    TokenAttend attend(program);
    if (!program.getState()) {
      sums.push_back(attend.scoreWindow(b, queries, span));
      continue;
    }
    features == TokenFeatures::Loaded ? attend.loadQueries(b, rows[i], stepVectors(i))
                                      : attend.computeQueries(b, rows[i], queries);
    FinalState place = placeOf(info.attends[i]);
    if (program.getOp().getSliding())
      sums.push_back(attend.stepWindow(b, rows[i], place, queries, span));
    else
      sums.push_back(isReadBefore ? attend.stepBefore(b, rows[i], place, queries, span)
                                  : attend.step(b, rows[i], place));
  }
  storeResults(b, sums, queries, span);
}

/// States take in the local block that the token has filled.
void TokenProgram::takeInFullBlock(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  Value zero = b.index(0), one = b.index(1);
  Value isFull = b.isEqual(b.addIndex(frame.sequence.cached, one), b.index(context.run));
  b.branch(isFull, [&] {
    ProgramContext inBlocks = context;
    inBlocks.block = context.cachedBlock;
    TokenProgram whole(info, inBlocks);
    for (AttendOp attend : info.attends)
      whole.stateOf(attend).beginFrom(b, whole.stateOf(attend).tensors().at(placeOf(attend)));
    whole.takeIn(b, Sweep{zero, frame.sequence.cached, context.cachedBlock}, KeySource::Cached);
    whole.takeIn(b, Sweep{zero, one, context.cachedBlock}, KeySource::Call);
    for (AttendOp attend : info.attends)
      whole.stateOf(attend).tensors().store(b, placeOf(attend));
  });
}

/// Emits `update` in each query head's program, or in that of the first one of those that share the
/// states. All programs store zeros for positions that do not count.
void TokenProgram::inUpdatingHeads(TileBuilder &b, TileBuilder::Branch update, bool isEachHead,
                                   int64_t rowsOfZeros) {
  if (isEachHead)
    update();
  else
    b.branch(context.frame.heads.isFirstOfGroup(b), update);
  storeZeros(b, info, context, rowsOfZeros);
}

/// Keeps the rows of local blocks or of rings: those of a key head in one program of its group.
void TokenProgram::keepRows(TileBuilder &b) {
  auto keep = [&] { storeKeptRows(b, info, context); };
  if (stepsEachHead() && !info.hasStatePerQuery())
    b.branch(context.frame.heads.isFirstOfGroup(b), keep);
  else
    keep(); // of query heads, and in the first one's program those of key heads
}

/// Emits `body` for each token of the call.
void TokenProgram::forTokens(TileBuilder &b, TileBuilder::Branch body) {
  ProgramSequence &sequence = context.frame.sequence, whole = sequence;
  b.loop(b.index(0), whole.queries, b.index(1), [&](Value token) {
    sequence = whole.token(b, token);
    body();
  });
  sequence = whole;
}

void TokenProgram::buildStep(TileBuilder &b) {
  const ProgramSequence &sequence = context.frame.sequence;
  auto step = [&](TokenFeatures features) {
    stepToken(b, features);
    keepRows(b);
  };
  bool hasSeveral = info.steps().getOneByOne() > 1;
  auto computeAll = [&] {
    auto compute = [&] { step(TokenFeatures::Computed); };
    hasSeveral ? forTokens(b, compute) : compute();
  };
  auto stepAll = [&] {
    int64_t fewest = info.steps().getBatches();
    if (!fewest)
      return computeAll();
    if (fewest == 1 && !hasSeveral)
      return step(TokenFeatures::Loaded);
    Value place = arith::RemUIOp::create(b, sequence.batch, b.index(StepsAttr::kBatchesPerProgram));
    Value batches = batchesFrom(b, b.subIndex(sequence.batch, place));
    Value areShared = b.compare(arith::CmpIPredicate::sge, batches, b.index(fewest));
    if (hasSeveral) { // the workspaces have features of each batch's first token alone
      Value isOne = b.isEqual(sequence.queries, b.index(1));
      areShared =
          arith::AndIOp::create(b, areShared, arith::AndIOp::create(b, isOne, hasVectors(b)));
    }
    b.branch(areShared, [&] { step(TokenFeatures::Loaded); }, computeAll);
  };
  auto update = [&] {
    // A new sequence's slot holds what is another's: zeros let nothing of it through.
    if (sequence.isContinued)
      b.branch(arith::XOrIOp::create(b, sequence.hasState(b), sequence.isContinued), [&] {
        for (AttendOp attend : info.attends)
          if (attend.getFinalState())
            stateOf(attend).tensors().clear(b, placeOf(attend));
      });
    Value hasTokens = b.compare(arith::CmpIPredicate::sge, sequence.queries, b.index(1));
    b.branch(hasTokens, stepAll);
  };
  inUpdatingHeads(b, update, stepsEachHead(), /*rowsOfZeros=*/kRowsOfZeros);
}

void TokenProgram::buildFew(TileBuilder &b) {
  auto update = [&] {
    for (StateProgram &state : states)
      state.begin(b);
    sweepBlocks(b);
    ifStatesChange(b, context, [&] {
      for (AttendOp attend : info.attends)
        if (attend.getFinalState())
          stateOf(attend).tensors().store(b, placeOf(attend));
    });
    storeKeptRows(b, info, context);
  };
  inUpdatingHeads(b, update, info.hasStatePerQuery(), /*rowsOfZeros=*/context.block);
}

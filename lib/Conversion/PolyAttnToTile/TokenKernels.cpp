//===- TokenKernels.cpp - calls of few tokens -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of positions has one row when a sequence is continued by one token, so that all that a
// block gains is lost. In this form a kernel of its own, `@name__step`, goes through each state
// once, where it lives: S <- g S + k v^T and o += q^T S. One program does so for all query heads
// that share the state.
//
// Where keys are plain vectors the token's own pair goes through the state, too: its score is that
// sum. That of a power would lose the digits which its features cancel, so that queries read the
// state as it was, and the own pair comes from its score. So do the pairs of a local block with
// rows in pools: the state is read only, until the token that fills the block.
//
// Where features are products with weights, a kernel before, `@name__vectors`, computes those of
// many batches at a time, whose rows are then batches: weights are read once for all of them. On
// processors the features of few batches are computed by the step, with the same bits: a sum has
// its terms in the same order, and a vector has other rows or other features of one row in its
// lanes. Rows of batches have no position in common, and products would be as wide as the state.
//
// Some more tokens are one short block, in `@name__few`: a copy of the state is updated by the
// block, and stored where the state lives once all query heads that share it have read it. So
// there is no workspace, which would be as large as all states. It is a kernel of its own since a
// step needs few registers and little shared memory, so that a multiprocessor has many of them.
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "StageKernels.h"

using namespace mlir;
using namespace polyattn;

/// Rows of zeros that a step stores at a time.
static constexpr int64_t kRowsOfZeros = 16;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// For each attend the fields of StepVectors, in their order.
SmallVector<TokenKernels::StepTensor> TokenKernels::stepTensors() const {
  SmallVector<StepTensor> tensors;
  if (!info.steps().getBatches())
    return tensors;
  for (auto [i, op] : llvm::enumerate(info.attends)) {
    AttendOp attend = op;
    std::string number = info.attends.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, int64_t width, bool ofQueries) {
      constexpr int64_t any = ShapedType::kDynamic;
      auto type = RankedTensorType::get({any, any, width}, lowering.b.getF32Type());
      tensors.push_back({{(name + number).str(), type}, ofQueries});
    };
    int64_t features = attend.getKey().getType().getWidth();
    add("step_queries", features, /*ofQueries=*/true);
    add("step_keys", features, /*ofQueries=*/false);
    add("step_values", attend.getValue().getType().getWidth(), /*ofQueries=*/false);
  }
  return tensors;
}

SmallVector<HiddenArgument> TokenKernels::workspaces() const {
  SmallVector<HiddenArgument> workspaces;
  for (const StepTensor &step : stepTensors())
    workspaces.push_back(step.tensor);
  return workspaces;
}

KernelPrograms TokenKernels::vectorPrograms() const {
  return {/*perHead=*/{}, /*keyHeads=*/false, /*inParts=*/false, StepsAttr::kBatchesPerProgram,
          info.steps().getBatches()};
}

/// The grid of `__few`; empty in calls of one token, which `__step` computes.
KernelPrograms TokenKernels::fewPrograms() const {
  KernelPrograms programs = info.programs();
  programs.perHead = ifLongerThan(lowering, 1, 1);
  return programs;
}

void TokenKernels::build() const {
  if (info.steps().getTokens() > 1)
    buildFew();
  OpenKernel kernel(lowering, lowering.named("__step"), workspaces(), info.programs());
  ProgramContext step = kernel.context();
  step.block = 1;
  kernel.ifAtMost(1, [&] { KernelProgram(info, ScheduleForm::State, step).buildStep(lowering.b); });
  if (info.steps().getBatches())
    buildVectors();
}

/// Runs for calls that may have batches of several tokens.
void TokenKernels::buildFew() const {
  OpenKernel kernel(lowering, lowering.named("__few"), {}, fewPrograms());
  ProgramContext few = kernel.context();
  few.block = info.steps().getFew();
  few.hasGroup = !info.tensors.sameHeads && !info.hasStatePerQuery();
  auto build = [&] { KernelProgram(info, ScheduleForm::State, few).buildFewTokens(lowering.b); };
  kernel.ifLonger(1, [&] { kernel.ifAtMost(info.steps().getTokens(), build); });
}

/// Runs for calls that may have batches of one token.
void TokenKernels::buildVectors() const {
  TileBuilder &b = lowering.b;
  OpenKernel kernel(lowering, lowering.named("__vectors"), workspaces(), vectorPrograms());
  Value tensor = kernel.frame.kernel.getTensor(info.tensors.queryTensor);
  Value positions = memref::DimOp::create(b, tensor, b.index(1));
  auto predicate = info.tensors.lengths ? arith::CmpIPredicate::sge : arith::CmpIPredicate::eq;
  ProgramContext batches = kernel.context();
  batches.block = StepsAttr::kBatchesPerProgram;
  b.branch(b.compare(predicate, positions, b.index(1)),
           [&] { KernelProgram(info, ScheduleForm::State, batches).buildStepVectors(b); });
}

/// The stages of batches of few tokens, which have none of the workspaces of longer ones.
void TokenKernels::write(EntryBuilder &e) const {
  const KernelTensors &kernel = info.tensors;
  if (info.steps().getTokens() > 1)
    e.stage(lowering.named("__few"), kernel.gridOf(lowering.b, fewPrograms()));
  tile::ExtentAttr batch = kernel.batches(lowering.b.getContext(), kernel.queryTensor);
  for (const auto &[tensor, ofQueries] : stepTensors())
    e.workspace(tensor, {batch, e.dimension(ofQueries ? kernel.queryTensor : kernel.keyTensor, 2),
                         e.number(tensor.type.getShape().back())});
  if (info.steps().getBatches())
    e.stage(lowering.named("__vectors"), kernel.gridOf(lowering.b, vectorPrograms()));
  e.stage(lowering.named("__step"), kernel.gridOf(lowering.b, info.programs()));
  e.forgetWorkspaces();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

StepVectors KernelProgram::stepVectors(unsigned attend) const {
  unsigned next = 3 * attend;
  const KernelFrame &frame = context.frame;
  return {frame.workspace(next), frame.workspace(next + 1), frame.workspace(next + 2)};
}

/// The results that are an attend's final state and its normalizer.
FinalState KernelProgram::placeOf(AttendOp attend) const {
  FinalState place;
  for (const auto &[number, value] : info.outputs)
    if (value.getDefiningOp() == attend && value != attend.getOutput())
      (value == attend.getFinalStates().front() ? place.rows : place.normalizer) =
          context.frame.result(number);
  return place;
}

/// The batches from `first` on that a program of the vectors' kernel would have.
Value KernelProgram::batchesFrom(TileBuilder &b, Value first) const {
  Value all = memref::DimOp::create(b, stepVectors(0).query, b.index(0));
  return b.minIndex(b.subIndex(all, first), b.index(StepsAttr::kBatchesPerProgram));
}

void KernelProgram::buildStepVectors(TileBuilder &b) {
  KernelFrame &frame = context.frame;
  Value zero = b.index(0), valid = batchesFrom(b, frame.batch);
  BlockRows rows{zero, zero, Value(), valid};
  rows.ofBatches = true;
  VectorProgram queries = frame.queryVectors(b, rows, StepsAttr::kBatchesPerProgram);
  for (auto [i, program] : llvm::enumerate(programs))
    program.storeQueries(b, stepVectors(i), queries);
  b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), [&] {
    VectorProgram keys = frame.keyVectors(b, rows, StepsAttr::kBatchesPerProgram);
    for (auto [i, program] : llvm::enumerate(programs))
      program.storeKeys(b, stepVectors(i), keys);
  });
}

void KernelProgram::computeStepKeys(TileBuilder &b, MutableArrayRef<StepVectors> rows,
                                    StepFeatures features) {
  BlockRows only = context.rows(b, b.index(0), b.index(1));
  VectorProgram keys = context.frame.keyVectors(b, only, 1);
  for (auto [i, program] : llvm::enumerate(programs))
    features == StepFeatures::Loaded ? program.loadKeys(b, rows[i], stepVectors(i))
                                     : program.computeKeys(b, rows[i], keys);
}

/// What the query heads do that share the states but for the first one.
void KernelProgram::forOtherHeads(TileBuilder &b, TileBuilder::Branch body) {
  KernelFrame &frame = context.frame;
  Value head = frame.head;
  b.loop(b.index(1), frame.headsOfGroup(b), b.index(1), [&](Value number) {
    frame.head = frame.sharingHead(b, number);
    body();
  });
  frame.head = head;
}

/// The results of these heads.
void KernelProgram::stepOtherHeads(TileBuilder &b, StepFeatures features) {
  if (info.tensors.sameHeads || info.hasStatePerQuery())
    return;
  forOtherHeads(b, [&] {
    SmallVector<StepVectors> others(programs.size());
    stepHead(b, others, features);
  });
}

/// The states and the results of one token, for all query heads that share them: those that only
/// read a state do so as it is wanted, after its update or before it.
void KernelProgram::stepToken(TileBuilder &b, StepFeatures features) {
  SmallVector<StepVectors> rows(programs.size());
  bool isReadBefore = info.scoresNearPairs();
  if (isReadBefore)
    stepOtherHeads(b, features);
  if (!context.frame.cached)
    computeStepKeys(b, rows, features);
  stepHead(b, rows, features);
  if (!isReadBefore)
    stepOtherHeads(b, features);
  if (context.frame.cached)
    takeInFullBlock(b);
}

/// The results of the query head at hand, which updates states where `rows` have keys.
void KernelProgram::stepHead(TileBuilder &b, MutableArrayRef<StepVectors> rows,
                             StepFeatures features) {
  Value zero = b.index(0), one = b.index(1);
  BlockSpan span{zero, one, zero, one, /*isOnly=*/true, context.frame.cached};
  VectorProgram queries = context.queryVectors(b, span);
  bool isReadBefore = info.scoresNearPairs();
  SmallVector<Accumulators> sums;
  for (auto [i, program] : llvm::enumerate(programs)) {
    features == StepFeatures::Loaded ? program.loadQueries(b, rows[i], stepVectors(i))
                                     : program.computeQueries(b, rows[i], queries);
    FinalState place = placeOf(info.attends[i]);
    sums.push_back(isReadBefore ? program.stepBefore(b, rows[i], place, queries, span)
                                : program.step(b, rows[i], place));
  }
  storeResults(b, sums, queries, span);
}

/// States take in the local block that the token has filled.
void KernelProgram::takeInFullBlock(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  Value zero = b.index(0), one = b.index(1);
  Value isFull = b.isEqual(b.addIndex(frame.cached, one), b.index(context.run));
  b.branch(isFull, [&] {
    ProgramContext inBlocks = context;
    inBlocks.block = context.cachedBlock;
    KernelProgram whole(info, ScheduleForm::State, inBlocks);
    for (StateProgram &state : whole.states)
      state.begin(b);
    whole.takeIn(b, Sweep{zero, frame.cached, context.cachedBlock}, KeySource::Cached);
    whole.takeIn(b, Sweep{zero, one, context.cachedBlock}, KeySource::Call);
    for (AttendOp attend : info.attends)
      whole.stateOf(attend).store(b, placeOf(attend));
  });
}

void KernelProgram::buildStep(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  auto compute = [&] { stepToken(b, StepFeatures::Computed); };
  auto stepOnly = [&] {
    int64_t fewest = info.steps().getBatches();
    if (!fewest)
      return compute();
    if (fewest == 1)
      return stepToken(b, StepFeatures::Loaded);
    Value place = arith::RemUIOp::create(b, frame.batch, b.index(StepsAttr::kBatchesPerProgram));
    Value batches = batchesFrom(b, b.subIndex(frame.batch, place));
    Value areShared = b.compare(arith::CmpIPredicate::sge, batches, b.index(fewest));
    b.branch(areShared, [&] { stepToken(b, StepFeatures::Loaded); }, compute);
  };
  auto update = [&] {
    // A new sequence's slot holds what is another's: zeros let nothing of it through.
    if (frame.isContinued)
      b.branch(arith::XOrIOp::create(b, frame.hasState(b), frame.isContinued), [&] {
        for (AttendOp attend : info.attends)
          stateOf(attend).clear(b, placeOf(attend));
      });
    b.branch(b.isEqual(frame.queries, b.index(1)), stepOnly);
    if (frame.cached)
      storeCached(b);
  };
  if (info.hasStatePerQuery())
    update();
  else
    b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), update);
  storeZeros(b, kRowsOfZeros);
}

void KernelProgram::buildFewTokens(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  auto update = [&] {
    for (StateProgram &state : states)
      state.begin(b);
    sweepBlocks(b);
    ifStatesChange(b, [&] {
      for (AttendOp attend : info.attends)
        stateOf(attend).store(b, placeOf(attend));
    });
    if (frame.cached)
      storeCached(b);
  };
  if (info.hasStatePerQuery())
    update();
  else
    b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), update);
  storeZeros(b, context.block);
}

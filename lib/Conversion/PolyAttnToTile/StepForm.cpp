//===- StepForm.cpp - calls of few tokens ---------------------------------===//
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

#include "FeaturePlan.h"
#include "KernelBuilder.h"
#include "KernelProgram.h"
#include "dialects/PolyAttn/Dependencies.h"

using namespace mlir;
using namespace polyattn;

/// Rows of zeros that a step stores at a time.
static constexpr int64_t kRowsOfZeros = 16;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether a vector is the same program at every position, over what is read there.
static bool knowsNoPosition(Value vector) {
  return !walkDependencies(vector, [](Value value) {
    if (value.getDefiningOp<RopeOp>())
      return WalkResult::interrupt();
    auto read = value.getDefiningOp<ReadOp>();
    if (!read)
      return WalkResult::advance();
    bool isTable = isa<FeatureType>(read.getType()) &&
                   cast<RankedTensorType>(read.getTensor().getType()).getRank() == 3;
    return isTable ? WalkResult::interrupt() : WalkResult::skip();
  });
}

/// Whether the pair of a token with itself, and those with a local block, come from scores.
static bool scoresNearPairs(const KernelInfo &set) {
  return llvm::any_of(set.attends, [](AttendOp attend) {
    return attend.getLocalQuery() || !planFeatures(attend.getKey()).isDirect();
  });
}

/// Whether some states are those of a query head, which has a program, and others are shared, so
/// that several programs would update them where they live.
static bool hasStatesOfBothHeads(const KernelInfo &set) {
  return !set.tensors.sameHeads && set.hasStatePerQuery() &&
         llvm::any_of(set.attends,
                      [](AttendOp attend) { return attend.getGateHeads() != GateHeads::Q; });
}

bool KernelBuilder::canStep() {
  // Packed sequences have no rows that lie at one place of every batch.
  if (set.tensors.offsets || set.tensors.rowsOfKeys)
    return false;
  // A state that is another result, too, is stored twice.
  auto isPlaced = [&](Value state) {
    auto places = llvm::to_vector(llvm::make_filter_range(
        set.outputs, [&](const Output &output) { return output.value == state; }));
    return places.size() == 1 && attention.getArgumentOfResult(places.front().number);
  };
  // Elements of a row lie together; a column may have no dimension for them.
  auto hasRows = [](Value initial) {
    return initial && cast<RankedTensorType>(initial.getType()).getRank() == 4;
  };
  if (hasStatesOfBothHeads(set))
    return false;
  bool hasPools = set.tensors.cachedBlock != 0; // which are those of all attends
  return llvm::all_of(set.attends, [&](AttendOp attend) {
    return attend.getMask() == Mask::Causal && bool(attend.getLocalQuery()) == hasPools &&
           attend.getFinalState() && hasRows(attend.getGivenState().state) &&
           llvm::all_of(attend.getFinalStates(), isPlaced);
  });
}

/// Whether what batches have of the weights is worth a kernel in which they share these.
static bool readsWeights(const KernelInfo &set) {
  auto reads = [](Value vector) {
    return walkDependencies(vector, [](Value value) {
      bool isMatrix = value.getDefiningOp<ReadOp>() && isa<WeightType>(value.getType());
      return isMatrix ? WalkResult::interrupt() : WalkResult::advance();
    });
  };
  return llvm::any_of(set.attends, [&](AttendOp attend) {
    return llvm::any_of(ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
                        reads);
  });
}

/// Whether a kernel before the steps computes features of many batches.
static bool sharesVectors(const KernelInfo &set) {
  return readsWeights(set) && !scoresNearPairs(set) &&
         llvm::all_of(set.attends, [](AttendOp attend) {
           return llvm::all_of(
               ArrayRef<Value>{attend.getQuery(), attend.getKey(), attend.getValue()},
               knowsNoPosition);
         });
}

/// For each attend the fields of StepVectors, in their order.
SmallVector<KernelBuilder::StepTensor> KernelBuilder::stepTensors() {
  SmallVector<StepTensor> tensors;
  if (!steppedTokens || !sharesVectors(set))
    return tensors;
  for (auto [i, attend] : llvm::enumerate(set.attends)) {
    std::string number = set.attends.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, int64_t width, bool ofQueries) {
      constexpr int64_t any = ShapedType::kDynamic;
      auto type = RankedTensorType::get({any, any, width}, b.getF32Type());
      tensors.push_back({{(name + number).str(), type}, ofQueries});
    };
    int64_t features = cast<FeatureType>(attend.getKey().getType()).getWidth();
    add("step_queries", features, /*ofQueries=*/true);
    add("step_keys", features, /*ofQueries=*/false);
    add("step_values", cast<FeatureType>(attend.getValue().getType()).getWidth(),
        /*ofQueries=*/false);
  }
  return tensors;
}

SmallVector<HiddenArgument> KernelBuilder::stepWorkspaces() {
  SmallVector<HiddenArgument> workspaces;
  for (const StepTensor &step : stepTensors())
    workspaces.push_back(step.tensor);
  return workspaces;
}

KernelPrograms KernelBuilder::vectorPrograms() {
  return {/*perHead=*/{}, /*keyHeads=*/false, /*inParts=*/false, kBatchesPerProgram,
          options.fewestBatches};
}

/// The grid of `__few`; empty in calls of one token, which `__step` computes.
KernelPrograms KernelBuilder::fewPrograms() {
  KernelPrograms programs = set.programs();
  programs.perHead = ifLongerThan(1, 1);
  return programs;
}

/// Programs of query heads with states of their own share rows in pools, which one of them may
/// write only when the others have read them.
int64_t KernelBuilder::mostSteppedTokens() {
  bool sharesPools = set.tensors.cachedBlock && set.hasStatePerQuery();
  bool areBlock = options.fewTokens > 1 && options.fewTokens < set.block();
  return areBlock && set.hasRows() && !sharesPools ? options.fewTokens : 1;
}

void KernelBuilder::buildIfLonger(int64_t tokens, TileBuilder::Branch body) {
  b.branch(b.compare(arith::CmpIPredicate::sgt, frame->queries, b.index(tokens)), body);
}

void KernelBuilder::buildIfAtMost(int64_t tokens, TileBuilder::Branch body) {
  b.branch(b.compare(arith::CmpIPredicate::sle, frame->queries, b.index(tokens)), body);
}

void KernelBuilder::buildStepKernels() {
  if (steppedTokens > 1)
    buildFewKernel();
  beginKernel(name + "__step", stepWorkspaces(), set.programs());
  ProgramContext step = context();
  step.block = 1;
  step.fewestBatches = options.fewestBatches;
  buildIfAtMost(1, [&] { KernelProgram(set, ScheduleForm::State, step).buildStep(b); });
  if (!stepTensors().empty())
    buildVectorsKernel();
}

/// Runs for calls that may have batches of several tokens.
void KernelBuilder::buildFewKernel() {
  beginKernel(name + "__few", {}, fewPrograms());
  ProgramContext few = context();
  few.block = options.fewTokens;
  few.hasGroup = !set.tensors.sameHeads && !set.hasStatePerQuery();
  buildIfLonger(1, [&] {
    buildIfAtMost(steppedTokens,
                  [&] { KernelProgram(set, ScheduleForm::State, few).buildFewTokens(b); });
  });
}

/// Runs for calls that may have batches of one token.
void KernelBuilder::buildVectorsKernel() {
  beginKernel(name + "__vectors", stepWorkspaces(), vectorPrograms());
  Value tensor = frame->kernel.getTensor(set.tensors.queryTensor);
  Value positions = memref::DimOp::create(b, tensor, b.index(1));
  auto predicate = set.tensors.lengths ? arith::CmpIPredicate::sge : arith::CmpIPredicate::eq;
  ProgramContext batches = context();
  batches.block = kBatchesPerProgram;
  b.branch(b.compare(predicate, positions, b.index(1)),
           [&] { KernelProgram(set, ScheduleForm::State, batches).buildStepVectors(b); });
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
  for (const auto &[number, value] : set.outputs)
    if (value.getDefiningOp() == attend && value != attend.getOutput())
      (value == attend.getFinalStates().front() ? place.rows : place.normalizer) =
          context.frame.result(number);
  return place;
}

/// The batches from `first` on that a program of the vectors' kernel would have.
Value KernelProgram::batchesFrom(TileBuilder &b, Value first) const {
  Value all = memref::DimOp::create(b, stepVectors(0).query, b.index(0));
  return b.minIndex(b.subIndex(all, first), b.index(KernelBuilder::kBatchesPerProgram));
}

void KernelProgram::buildStepVectors(TileBuilder &b) {
  KernelFrame &frame = context.frame;
  Value zero = b.index(0), valid = batchesFrom(b, frame.batch);
  BlockRows rows{zero, zero, Value(), valid};
  rows.ofBatches = true;
  VectorProgram queries = frame.queryVectors(b, rows, KernelBuilder::kBatchesPerProgram);
  for (auto [i, program] : llvm::enumerate(programs))
    program.storeQueries(b, stepVectors(i), queries);
  b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), [&] {
    VectorProgram keys = frame.keyVectors(b, rows, KernelBuilder::kBatchesPerProgram);
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
  if (set.tensors.sameHeads || set.hasStatePerQuery())
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
  bool isReadBefore = scoresNearPairs(set);
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
  bool isReadBefore = scoresNearPairs(set);
  SmallVector<Accumulators> sums;
  for (auto [i, program] : llvm::enumerate(programs)) {
    features == StepFeatures::Loaded ? program.loadQueries(b, rows[i], stepVectors(i))
                                     : program.computeQueries(b, rows[i], queries);
    FinalState place = placeOf(set.attends[i]);
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
    KernelProgram whole(set, ScheduleForm::State, inBlocks);
    for (StateProgram &state : whole.states)
      state.begin(b);
    whole.takeIn(b, Sweep{zero, frame.cached, context.cachedBlock}, KeySource::Cached);
    whole.takeIn(b, Sweep{zero, one, context.cachedBlock}, KeySource::Call);
    for (AttendOp attend : set.attends)
      whole.stateOf(attend).store(b, placeOf(attend));
  });
}

void KernelProgram::buildStep(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  auto compute = [&] { stepToken(b, StepFeatures::Computed); };
  auto stepOnly = [&] {
    if (!sharesVectors(set))
      return compute();
    if (context.fewestBatches == 1)
      return stepToken(b, StepFeatures::Loaded);
    Value place =
        arith::RemUIOp::create(b, frame.batch, b.index(KernelBuilder::kBatchesPerProgram));
    Value batches = batchesFrom(b, b.subIndex(frame.batch, place));
    Value areShared = b.compare(arith::CmpIPredicate::sge, batches, b.index(context.fewestBatches));
    b.branch(areShared, [&] { stepToken(b, StepFeatures::Loaded); }, compute);
  };
  auto update = [&] {
    // A new sequence's slot holds what is another's: zeros let nothing of it through.
    if (frame.isContinued)
      b.branch(arith::XOrIOp::create(b, frame.hasState(b), frame.isContinued), [&] {
        for (AttendOp attend : set.attends)
          stateOf(attend).clear(b, placeOf(attend));
      });
    b.branch(b.isEqual(frame.queries, b.index(1)), stepOnly);
    if (frame.cached)
      storeCached(b);
  };
  if (set.hasStatePerQuery())
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
      for (AttendOp attend : set.attends)
        stateOf(attend).store(b, placeOf(attend));
    });
    if (frame.cached)
      storeCached(b);
  };
  if (set.hasStatePerQuery())
    update();
  else
    b.branch(b.isEqual(frame.head, frame.firstHeadOfGroup(b)), update);
  storeZeros(b, context.block);
}

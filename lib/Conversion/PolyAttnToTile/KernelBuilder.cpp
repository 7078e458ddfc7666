//===- KernelBuilder.cpp - the tile kernels of one attention --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "ChunkwiseKernels.h"
#include "DecaySums.h"
#include "KernelProgram.h"
#include "StateSums.h"
#include "dialects/PolyAttn/StateTerms.h"

using namespace mlir;
using namespace polyattn;

/// Opens a kernel over the attention's tensors and hidden ones.
void KernelBuilder::beginKernel(StringRef name, ArrayRef<HiddenArgument> hidden,
                                const KernelPrograms &programs) {
  b.setInsertionPoint(attention);
  frame.emplace(b, name, set.tensors, hidden, programs);
  if (frame->clusterRank)
    share = std::make_shared<ClusterShare>(frame->clusterRank, set.tensors.cluster);
  else
    share = std::make_shared<AllFeatures>();
  segment.reset();
  weightSums.reset();
  besideSums.reset();
}

ProgramContext KernelBuilder::context() {
  return {*frame,
          share,
          segment,
          set.block(),
          set.block(),
          set.run,
          set.mask,
          options.skipIdleState,
          weightSums ? &*weightSums : nullptr,
          besideSums ? &*besideSums : nullptr,
          firstSaved,
          savedHere,
          firstPassed};
}

/// Few tokens that go on with a state are one block, and the rows of a longer one would be padding.
/// Sums have the terms in the same order, so that bits do not depend on what the last call of a
/// prefill has.
void KernelBuilder::buildBlocks() {
  auto all = [&] { buildShortOrLong(set.shortBlocks()); };
  bool hasFew = hasPlaces && options.fewTokens && options.fewTokens < set.block();
  if (!hasFew || steppedTokens >= options.fewTokens)
    return all();
  Value areFew = b.compare(arith::CmpIPredicate::sle, frame->queries, b.index(options.fewTokens));
  auto few = [&] {
    ProgramContext inShort = context();
    inShort.block = options.fewTokens;
    KernelProgram(set, ScheduleForm::State, inShort).build(b);
  };
  b.branch(areFew, few, all);
}

/// One block of the first of `lengths` for calls that it is long enough for, of the next one for
/// others, and what longer calls have.
void KernelBuilder::buildShortOrLong(ArrayRef<int64_t> lengths) {
  if (lengths.empty())
    return buildForms();
  // Without keys there is no row that a load could take instead of those past the end.
  Value last = b.subIndex(frame->keys, b.index(1));
  Value isShort = b.compare(arith::CmpIPredicate::ult, last, b.index(lengths[0]));
  branch(
      isShort, [&] { KernelProgram::buildOneBlock(b, set, context(), lengths[0]); },
      [&] { buildShortOrLong(lengths.drop_front()); });
}

/// Emits `few` for calls that are short and whose heads are not cut, `many` for the others.
void KernelBuilder::branch(Value isShort, TileBuilder::Branch few, TileBuilder::Branch many) {
  if (Value isAlone = share->isAlone(b))
    isShort = arith::AndIOp::create(b, isShort, isAlone);
  if (segment) {
    Value isWhole = b.isEqual(segment->segments, b.index(1));
    isShort = arith::AndIOp::create(b, isShort, isWhole);
  }
  b.branch(isShort, few, many);
}

/// The form with a state, and the quadratic one for calls that are too short for it.
void KernelBuilder::buildForms() {
  int64_t below = set.quadraticBelow();
  if (!below)
    return buildForm(ScheduleForm::State);
  Value isShort = b.compare(arith::CmpIPredicate::slt, frame->keys, b.index(below));
  branch(
      isShort, [&] { buildForm(ScheduleForm::Quadratic); },
      [&] { buildForm(ScheduleForm::State); });
}

/// The quadratic form has no features to cut, and its positions are never cut: it would have to see
/// all keys.
void KernelBuilder::buildForm(ScheduleForm form) {
  ProgramContext program = context();
  if (form == ScheduleForm::Quadratic) {
    program.share = std::make_shared<AllFeatures>();
    program.segment.reset();
  }
  KernelProgram(set, form, program).build(b);
}

/// What a program does, in each of its batches.
void KernelBuilder::buildProgram(TileBuilder::Branch batch) {
  if (!weightSums)
    return batch();
  frame->forBatches(b, weightSums->countParts(b, *frame), batch);
  weightSums->store(b, *frame);
  if (besideSums)
    besideSums->store(b, *frame);
}

/// The kernel that adds up what the programs of all sets have stored.
void KernelBuilder::reduceWeights(ArrayRef<KernelInfo> sets) {
  b.setInsertionPoint(attention);
  WeightReduction(sets).build(b, (attention.getSymName() + "__reduce").str(), sumTensors);
}

/// The kernels that sum up what those of all sets have saved: decays and states.
void KernelBuilder::sumSaved(ArrayRef<KernelInfo> sets) {
  auto build = [&](const auto &all) {
    for (const auto &sums : all) {
      b.setInsertionPoint(attention);
      sums.build(b, attention.getSymName());
    }
  };
  build(DecaySums::allOf(sets));
  build(StateSums::allOf(sets));
}

/// Blocks that are computed each by itself, after the kernels of the states that they read.
void KernelBuilder::buildChunkwise() {
  ChunkwiseKernels kernels(set, name, options.skipIdleState);
  kernels.buildStates(b, attention);
  beginUncut(name, set.ofKeys ? set.groupTensors(b) : SmallVector<HiddenArgument>(),
             kernels.queryPrograms(b), set.saved, /*beside=*/nullptr, kernels.stateTensors(b));
  auto block = [&](Value position) { kernels.buildQueries(b, firstState, position, context()); };
  if (weightSums) {
    frame->forBlocks(b, weightSums->countParts(b, *frame), set.block(), block);
    weightSums->store(b, *frame);
  } else {
    block(b.mulIndex(frame->segment, b.index(set.block())));
  }
  if (set.ofKeys)
    buildGroupKernel();
}

/// The kernels of the attends of one mask.
void KernelBuilder::buildKernels() {
  if (set.segment())
    return buildChunkwise();
  if (options.cutHeads)
    cutByFeatures();
  // Parts of the features do no work twice; segments are for what has too few features.
  hasSegments = options.cutPositions && maxSplits == 1 && canCutPositions();
  steppedTokens = hasPlaces && canStep() ? mostSteppedTokens() : 0;
  // What a launch cuts is not there for a cluster to share.
  set.tensors.cluster =
      maxSplits > 1 || !set.sums.empty() || set.savesValues() ? 1 : chooseClusterSize();
  if (maxSplits > 1)
    combine();
  beginMain();
  auto blocks = [&] { buildBlocks(); };
  buildProgram([&] { steppedTokens ? buildIfLonger(steppedTokens, blocks) : blocks(); });
  narrowWeights();
  if (set.ofKeys)
    buildGroupKernel();
  if (hasSegments) {
    buildPrefixKernel();
    narrowWeights();
  }
  if (hasPlaces)
    buildWriteBackKernel();
  if (steppedTokens)
    buildStepKernels();
}

LogicalResult KernelBuilder::build() {
  FailureOr<std::vector<KernelInfo>> sets = KernelInfo::allOf(attention);
  if (failed(sets))
    return failure();
  if (llvm::any_of(attendsOf(attention), isTakenInDifferences))
    b.setFullPrecision();
  hasPlaces = attention.hasStatesInPlace();
  bool hasSums = llvm::any_of(*sets, [](const KernelInfo &set) { return !set.sums.empty(); });
  bool savesValues = llvm::any_of(*sets, [](const KernelInfo &set) { return set.savesValues(); });
  // Rows alone have no features or states. A launch finds one number of parts, which would have to
  // fit all kernels; and it knows of no
  // batch, or packed sequence, that is shorter than the others. Rows that heads share are in parts
  // as it is. Segments follow from the threads, which bits of gradients must not.
  bool readsStates =
      llvm::any_of(*sets, [](const KernelInfo &set) { return set.beside || set.readsStates; });
  if (sets->size() > 1 || hasSums || savesValues || readsStates || hasPlaces ||
      attention.getLengths() || attention.getPacked() || sets->front().ofKeys ||
      sets->front().isRowsAlone())
    options.cutHeads = options.cutPositions = false;
  // States are whole where they are kept, or seen by way of views.
  if (llvm::any_of(attendsOf(attention), [](AttendOp attend) {
        bool readsView = attend.getState() && !attend.getState().getDefiningOp<StateOp>() &&
                         !pairsOf(attend.getState());
        return attend.getStateEvery() || readsView;
      }))
    options.cutHeads = false;
  for (const KernelInfo &attends : *sets) {
    set = attends;
    name = attends.name().str();
    buildKernels();
  }
  if (hasSums)
    reduceWeights(*sets);
  sumSaved(*sets);
  writeEntry(*sets);
  attention.erase();
  return success();
}

/// Opens the kernel that computes the results.
void KernelBuilder::beginMain() {
  if (maxSplits > 1) {
    beginKernel(name, partTensors());
    bindPart();
  } else if (hasSegments) {
    beginKernel(name, segmentTensors(), mainPrograms());
    segment = segmentOf(/*isPrefix=*/false);
  } else {
    beginUncut(name, set.ofKeys ? set.groupTensors(b) : placedStates(), mainPrograms(), set.saved,
               set.beside.get());
  }
}

/// Opens a kernel of a set that is not cut, with the sums of its programs, what it keeps, and what
/// passes between sets, behind other workspaces, and the states before segments that it reads.
void KernelBuilder::beginUncut(StringRef kernel, SmallVector<HiddenArgument> workspaces,
                               const KernelPrograms &programs, ArrayRef<StoredResult> saved,
                               const KernelInfo *beside, ArrayRef<HiddenArgument> states) {
  auto addSums = [&](const KernelInfo &of) {
    SmallVector<HiddenArgument> own = WeightSums::workspaces(b, of.sums, sumTensors.size());
    llvm::append_range(sumTensors, own);
    llvm::append_range(workspaces, own);
    return workspaces.size() - own.size();
  };
  unsigned first = addSums(set), firstOfBeside = beside ? addSums(*beside) : 0;
  firstSaved = workspaces.size();
  savedHere = saved;
  llvm::append_range(workspaces, workspacesOf(b, saved));
  firstPassed = workspaces.size();
  for (const auto &passed : {set.exported, set.imported})
    for (const StoredResult &rows : passed)
      workspaces.push_back(rows.workspaceOfRows(b));
  firstState = workspaces.size();
  llvm::append_range(workspaces, states);
  beginKernel(kernel, workspaces, programs);
  if (!set.sums.empty())
    weightSums.emplace(b, set.sums, first);
  if (beside && !beside->sums.empty())
    besideSums.emplace(b, beside->sums, firstOfBeside);
}

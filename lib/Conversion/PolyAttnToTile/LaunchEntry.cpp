//===- LaunchEntry.cpp - how the kernels of an attention are launched -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkwiseKernels.h"
#include "DecaySums.h"
#include "EntryBuilder.h"
#include "KernelBuilder.h"
#include "StateSums.h"

using namespace mlir;
using namespace polyattn;
using tile::ExtentAttr;
using tile::ExtentBase;

/// The most programs with sums of their own, in the form with a state and in the form `chunkwise`.
/// The second is about four for each multiprocessor of a large GPU.
static constexpr int64_t kMostSummingPrograms = 64, kMostSummingProgramsOfBlocks = 512;

/// What a position costs where prefix states are summed up, in percent of what it costs in all.
int64_t KernelBuilder::prefixCostPercent() {
  double prefix = 0, all = 0;
  for (auto [attend, schedule] : llvm::zip(set.attends, set.schedules)) {
    PositionCosts costs = PositionCosts::of(attend, schedule);
    prefix += costs.prefix;
    all += costs.all;
  }
  return std::llround(100 * prefix / all);
}

/// The workspaces of the values that a set saves: products of each row and query head, and states.
static void writeSaved(EntryBuilder &e, OpBuilder &b, const KernelInfo &set,
                       ArrayRef<StoredResult> saved) {
  const KernelTensors &kernel = set.tensors;
  int64_t rows = kernel.queryTensor, others = kernel.keyTensor;
  for (const HiddenArgument &tensor : workspacesOf(b, saved)) {
    ArrayRef<int64_t> sizes = tensor.type.getShape();
    SmallVector<ExtentAttr> shape;
    if (sizes.size() == 3)
      shape = {e.dimension(rows, 0), e.dimension(rows, 1),
               e.dimension(set.ofKeys ? others : rows, 2)};
    else
      shape = {kernel.batches(b.getContext(), rows),
               e.dimension(set.hasStatePerQuery() == set.ofKeys ? others : rows, 2)};
    for (int64_t size : sizes.drop_front(shape.size()))
      shape.push_back(e.number(size));
    e.workspace(tensor, shape);
  }
}

/// The workspaces of rows that a set exports, which its first kernel brings along, and of those
/// that it imports.
static void usePassed(EntryBuilder &e, OpBuilder &b, const KernelInfo &set, bool isFirst) {
  int64_t rows = set.tensors.queryTensor;
  for (const StoredResult &exported : set.exported) {
    HiddenArgument tensor = exported.workspaceOfRows(b);
    if (isFirst)
      e.workspace(tensor, {e.dimension(rows, 0), e.dimension(rows, 1), e.dimension(rows, 2),
                           e.number(tensor.type.getShape().back())});
    else
      e.useAlso(tensor.name);
  }
  for (const StoredResult &imported : set.imported)
    e.useAlso(imported.name);
}

/// The stages of a set that is not cut. Takes the workspaces of its sums from the first ones of
/// `tensors`, and gives their names to `sums`.
static void writeStages(EntryBuilder &e, OpBuilder &b, const KernelInfo &set, StringRef name,
                        KernelPrograms programs, ArrayRef<HiddenArgument> &tensors,
                        EntryBuilder::Uses &sums, ArrayRef<Attribute> states = {}) {
  const KernelTensors &kernel = set.tensors;
  int64_t rows = kernel.queryTensor, others = kernel.keyTensor;
  auto stage = [&](const Twine &name, const KernelPrograms &programs, bool keeps) {
    EntryBuilder::Uses before = e.use({});
    size_t count = keeps ? set.countSums() : set.sums.size();
    for (const HiddenArgument &tensor : tensors.take_front(count)) {
      SmallVector<ExtentAttr> shape = {e.choice(ExtentBase::Parts),
                                       e.dimension(kernel.tensorOf(programs), 2)};
      for (int64_t size : tensor.type.getShape().drop_front(2))
        shape.push_back(e.number(size));
      e.workspace(tensor, shape);
    }
    tensors = tensors.drop_front(count);
    EntryBuilder::Uses own = e.use({}), all = before;
    llvm::append_range(sums, own);
    writeSaved(e, b, set, keeps ? set.saved : set.savedSums);
    usePassed(e, b, set, /*isFirst=*/keeps);
    llvm::append_range(all, own);
    llvm::append_range(all, e.use({}));
    if (keeps)
      llvm::append_range(all, states);
    e.use(all);
    e.stage(name, kernel.gridOf(b, programs));
    e.use(before);
  };
  if (!set.ofKeys)
    return stage(name, programs, /*keeps=*/true);
  bool isOfRows = set.hasRows(); // the first one; the others are of states
  for (const HiddenArgument &tensor : set.groupTensors(b)) {
    ExtentAttr heads = e.dimension(others, 2);
    SmallVector<ExtentAttr> shape = {kernel.batches(b.getContext(), rows), heads};
    if (isOfRows)
      shape = {e.dimension(rows, 0), e.dimension(rows, 1), heads};
    for (int64_t size : tensor.type.getShape().drop_front(shape.size()))
      shape.push_back(e.number(size));
    e.workspace(tensor, shape);
    isOfRows = false;
  }
  stage(name, programs, /*keeps=*/true);
  KernelPrograms groups = set.programs();
  groups.keyHeads = false;
  stage(name + "__groups", groups, /*keeps=*/false);
  e.forgetWorkspaces();
}

/// The stages of all sets, which are not cut, and the one that adds up their sums.
void KernelBuilder::writeUncut(EntryBuilder &e, ArrayRef<KernelInfo> sets) {
  ArrayRef<HiddenArgument> tensors = sumTensors;
  EntryBuilder::Uses sums;
  int64_t bytes = 0;
  for (const KernelInfo &attends : sets) {
    std::string own = attends.name().str();
    KernelPrograms programs = steppedTokens ? mainPrograms() : attends.programs();
    EntryBuilder::Uses states;
    if (attends.segment()) {
      ChunkwiseKernels kernels(attends, own, options.skipIdleState);
      states = kernels.writeStages(e, b);
      programs = kernels.queryPrograms(b);
    }
    writeStages(e, b, attends, own, programs, tensors, sums, states);
    if (attends.segment())
      e.forgetWorkspaces();
    bytes += attends.countKernels() * WeightSums::bytesOf(attends.sums);
    if (attends.beside)
      bytes += WeightSums::bytesOf(attends.beside->sums);
  }
  auto sumSaved = [&](const auto &all) {
    for (const auto &one : all) {
      EntryBuilder::Uses saved;
      for (const StoredResult &value : one.getSaved())
        saved.push_back(FlatSymbolRefAttr::get(b.getContext(), value.name));
      e.use(saved);
      e.stage(one.kernelName(attention.getSymName()), one.grid(b));
    }
  };
  sumSaved(DecaySums::allOf(sets));
  sumSaved(StateSums::allOf(sets));
  if (sums.empty())
    return;
  e.use(sums);
  e.stage(attention.getSymName() + "__reduce", WeightReduction(sets).grid(b));
  auto chunkwise = llvm::find_if(sets, [](const KernelInfo &set) { return set.segment() > 0; });
  bool ofBlocks = chunkwise != sets.end();
  ExtentAttr items = set.tensors.batches(b.getContext(), set.tensors.queryTensor);
  if (ofBlocks) // sizes of one batch bound the parts; those of short batches may be empty
    items = ExtentAttr::get(b.getContext(), ExtentBase::Dimension, set.tensors.queryTensor,
                            /*dimension=*/1, /*plus=*/0, chunkwise->block(), /*times=*/4);
  tile::ChooseOp choice = e.choose(ExtentBase::Parts, items);
  choice.setBytes(bytes);
  choice.setMax(ofBlocks ? kMostSummingProgramsOfBlocks : kMostSummingPrograms);
}

/// The stages of batches of few tokens, which have none of the workspaces of longer ones.
void KernelBuilder::writeSteps(EntryBuilder &e) {
  if (steppedTokens > 1)
    e.stage(name + "__few", set.tensors.gridOf(b, fewPrograms()));
  ExtentAttr batch = set.tensors.batches(b.getContext(), set.tensors.queryTensor);
  SmallVector<StepTensor> vectors = stepTensors();
  for (const auto &[tensor, ofQueries] : vectors) {
    ExtentAttr heads = e.dimension(ofQueries ? set.tensors.queryTensor : set.tensors.keyTensor, 2);
    e.workspace(tensor, {batch, heads, e.number(tensor.type.getShape().back())});
  }
  if (!vectors.empty())
    e.stage(name + "__vectors", set.tensors.gridOf(b, vectorPrograms()));
  e.stage(name + "__step", set.tensors.gridOf(b, set.programs()));
  e.forgetWorkspaces();
}

/// Writes the op `tile.entry` after the kernels. Only what is not cut has several sets.
void KernelBuilder::writeEntry(ArrayRef<KernelInfo> sets) {
  int64_t inputs = attention.getArgNames().size(),
          tensors = inputs + attention.getResultNames().size();
  b.setInsertionPoint(attention);
  auto entry = tile::EntryOp::create(b, b.getLoc(), attention.getSymName(), tensors, inputs);
  b.setInsertionPointToStart(b.createBlock(&entry.getBody()));
  EntryBuilder e(b, b.getLoc());
  int64_t query = set.tensors.queryTensor;
  int64_t state = set.hasStatePerQuery() ? query : set.tensors.keyTensor;
  // Shorter calls have no state, and nothing to cut.
  int64_t quadraticBelow = set.quadraticBelow();
  ExtentAttr batch = set.tensors.batches(b.getContext(), query), positions = e.dimension(query, 1),
             heads = e.dimension(query, 2), stateHeads = e.dimension(state, 2);
  int64_t multiple = std::max(set.block(), set.run);
  ArrayAttr main = set.tensors.gridOf(b, mainPrograms());
  if (maxSplits > 1) {
    SmallVector<HiddenArgument> hidden = partTensors();
    ExtentAttr splits = e.choice(ExtentBase::Splits);
    e.workspace(hidden[0], {splits, batch, positions, heads, e.number(partialColumns)});
    e.workspace(hidden[1], {e.number(4)}, tile::WorkspaceFill::Launch);
    e.stage(name, main).setPerSplit(true);
    e.stage(name + "__combine", main).setCombinesSplits(true);
    tile::ChooseOp choice = e.choose(ExtentBase::Splits, positions);
    choice.setMax(maxSplits);
    choice.setMultiple(multiple);
    choice.setMinPositions(quadraticBelow);
  } else if (hasSegments) {
    ExtentAttr prefixes = sumPrograms().perHead;
    for (const HiddenArgument &tensor : segmentTensors()) {
      SmallVector<ExtentAttr> shape = {prefixes, batch, stateHeads};
      for (int64_t size : tensor.type.getShape().drop_front(3))
        shape.push_back(e.number(size));
      e.workspace(tensor, shape);
    }
    e.stage(name + "__prefix", set.tensors.gridOf(b, sumPrograms()));
    e.stage(name, main);
    tile::ChooseOp choice = e.choose(ExtentBase::Segments, positions);
    choice.setBlock(set.block());
    choice.setMultiple(multiple);
    choice.setMinPositions(quadraticBelow);
    choice.setPrefixCostPercent(prefixCostPercent());
    choice.setSubsegments(options.subsegments);
  } else {
    if (steppedTokens)
      writeSteps(e);
    for (auto [i, tensor] : llvm::enumerate(placedStates())) {
      SmallVector<ExtentAttr> shape = {batch, stateHeads};
      llvm::append_range(shape, sizesOfPlaced(i));
      e.workspace(tensor, shape);
    }
    writeUncut(e, sets);
    if (hasPlaces)
      e.stage(name + "__write_back", set.tensors.gridOf(b, statePrograms()));
  }
}

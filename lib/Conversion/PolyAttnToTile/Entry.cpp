//===- Entry.cpp - how the kernels of an attention are launched -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include "ChunkwiseKernels.h"
#include "ConvolutionKernels.h"
#include "SavedTensors.h"
#include "StageKernels.h"

using namespace mlir;
using namespace polyattn;
using tile::ExtentAttr;
using tile::ExtentBase;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void SumsOfKernels::build(TileBuilder &b) const {
  StringRef entry = attention.getSymName();
  if (llvm::any_of(kernels, [](const KernelInfo &kernel) { return kernel.sumsWeights; })) {
    b.setInsertionPoint(attention);
    SmallVector<HiddenArgument> tensors;
    for (const KernelInfo &kernel : kernels)
      for (Stage stage : kernel.stages())
        llvm::append_range(tensors, WeightSums::tensorsOf(b, kernel, stage));
    WeightReduction(kernels).build(b, (entry + "__reduce").str(), tensors);
  }
  for (const auto &sum : SavedSum::allOf(kernels)) {
    b.setInsertionPoint(attention);
    sum->build(b, entry);
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The workspaces of the values that a kernel saves: products of each row and query head, and
/// states.
static void writeSaved(EntryBuilder &e, OpBuilder &b, const KernelInfo &info,
                       ArrayRef<StoredResult> saved) {
  const KernelTensors &kernel = info.tensors;
  int64_t rows = kernel.queryTensor, heads = kernel.queryHeads, others = kernel.keyHeads;
  for (const HiddenArgument &tensor : workspacesOf(b, saved)) {
    SmallVector<ExtentAttr> shape;
    if (tensor.type.getRank() == 3)
      shape = {e.dimension(rows, 0), e.dimension(rows, 1),
               e.dimension(info.ofKeys ? others : heads, 2)};
    else
      shape = {kernel.batches(b.getContext(), rows),
               e.dimension(info.hasStatePerQuery() == info.ofKeys ? others : heads, 2)};
    e.workspace(tensor, shape);
  }
}

/// The workspaces of rows that a kernel passes on, which its first kernel brings along, and of
/// those that it imports.
static void usePassed(EntryBuilder &e, OpBuilder &b, const KernelInfo &info, Stage stage) {
  int64_t rows = info.tensors.queryTensor;
  for (const StoredResult &exported : info.exported) {
    HiddenArgument tensor = exported.workspaceOfRows(b);
    if (stage == Stage::Heads)
      e.workspace(tensor, {e.dimension(rows, 0), e.dimension(rows, 1),
                           e.dimension(info.tensors.queryHeads, 2)});
    else
      e.useAlso(tensor.name);
  }
  for (const StoredResult &imported : info.imported)
    e.useAlso(imported.name);
}

/// Writes a stage that leaves results in workspaces, and those workspaces. Adds the names of its
/// sums of weights' gradients to `sums`.
static void writeStage(EntryBuilder &e, const Lowering &lowering, StringRef name,
                       const KernelPrograms &programs, Stage stage, EntryBuilder::Uses &sums,
                       ArrayRef<Attribute> states = {}) {
  const KernelInfo &info = lowering.info;
  TileBuilder &b = lowering.b;
  EntryBuilder::Uses all = e.use({}), before = all;
  for (const HiddenArgument &tensor : WeightSums::tensorsOf(b, info, stage))
    e.workspace(tensor,
                {e.choice(ExtentBase::Parts), e.dimension(info.tensors.headsOf(programs), 2)});
  EntryBuilder::Uses own = e.use({});
  llvm::append_range(sums, own);
  writeSaved(e, b, info, stage == Stage::Heads ? info.saved : info.savedSums);
  usePassed(e, b, info, stage);
  llvm::append_range(all, own);
  llvm::append_range(all, e.use({}));
  llvm::append_range(all, states);
  e.use(all);
  e.stage(name, info.tensors.gridOf(b, programs),
          stage == Stage::Groups ? tile::StageRole::GroupSums : tile::StageRole::Main);
  e.use(before);
}

/// The workspaces in which programs of query heads leave their rows and states of keys.
static void writeGroupWorkspaces(EntryBuilder &e, const Lowering &lowering) {
  const KernelInfo &info = lowering.info;
  int64_t rows = info.tensors.queryTensor;
  bool isOfRows = info.hasRows; // the first one; the others are of states
  for (const HiddenArgument &tensor : info.groupTensors(lowering.b)) {
    ExtentAttr heads = e.dimension(info.tensors.keyHeads, 2);
    if (isOfRows)
      e.workspace(tensor, {e.dimension(rows, 0), e.dimension(rows, 1), heads});
    else
      e.workspace(tensor, {info.tensors.batches(lowering.b.getContext(), rows), heads});
    isOfRows = false;
  }
}

/// The stages of a kernel op whose heads are whole.
static void writeWhole(EntryBuilder &e, const Lowering &lowering, EntryBuilder::Uses &sums) {
  const KernelInfo &info = lowering.info;
  if (convolutionIn(info.kernel))
    return ConvolutionKernels(lowering).write(e);
  KernelPrograms programs = PlacedStateKernels(lowering).mainPrograms();
  EntryBuilder::Uses states;
  if (info.segment())
    states =
        ChunkwiseKernels(info, info.name(), lowering.skipsIdleState).writeStages(e, lowering.b);
  if (info.hasGroups())
    writeGroupWorkspaces(e, lowering);
  writeStage(e, lowering, info.name(), programs, Stage::Heads, sums, states);
  if (info.hasGroups()) {
    KernelPrograms groups = info.programs();
    groups.keyHeads = false;
    writeStage(e, lowering, lowering.named("__groups"), groups, Stage::Groups, sums);
  }
  if (info.hasGroups() || info.segment())
    e.forgetWorkspaces();
}

void SumsOfKernels::write(EntryBuilder &e, TileBuilder &b, EntryBuilder::Uses sums) const {
  StringRef entry = attention.getSymName();
  for (const auto &sum : SavedSum::allOf(kernels)) {
    EntryBuilder::Uses saved;
    for (const StoredResult &value : sum->getSaved())
      saved.push_back(FlatSymbolRefAttr::get(b.getContext(), value.name));
    e.use(saved);
    e.stage(sum->kernelName(entry), sum->grid(b), sum->getRole());
  }
  if (sums.empty())
    return;
  e.use(sums);
  e.stage(entry + "__reduce", WeightReduction(kernels).grid(b), tile::StageRole::WeightSums);
  writeParts(e, b);
}

/// Into how many parts a call is cut, of whose batches or blocks programs have sums of their own.
void SumsOfKernels::writeParts(EntryBuilder &e, TileBuilder &b) const {
  const KernelTensors &tensors = kernels.back().tensors;
  ExtentAttr items = tensors.batches(b.getContext(), tensors.queryTensor);
  int64_t bytes = 0, most = 0;
  for (const KernelInfo &kernel : kernels) {
    // Sizes of one batch bound the parts; those of short ones may be empty.
    if (kernel.sumsWeights && kernel.hasBlocks())
      items = ExtentAttr::get(b.getContext(), ExtentBase::Dimension, kernel.tensors.queryTensor,
                              /*dimension=*/1, /*plus=*/0, kernel.block(), /*times=*/4);
    bytes += kernel.stages().size() * WeightSums::bytesOf(kernel.sums);
    if (kernel.beside)
      bytes += WeightSums::bytesOf(kernel.beside->sums);
    most = std::max(most, kernel.cut().getParts());
  }
  tile::ChooseOp choice = e.choose(ExtentBase::Parts, items);
  choice.setBytes(bytes);
  choice.setMax(most);
}

void polyattn::writeEntry(AttentionOp attention, TileBuilder &b, ArrayRef<KernelInfo> kernels,
                          bool skipsIdleState) {
  int64_t inputs = attention.getArgNames().size();
  int64_t tensors = inputs + attention.getResultNames().size();
  b.setInsertionPoint(attention);
  auto entry = tile::EntryOp::create(b, b.getLoc(), attention.getSymName(), tensors, inputs);
  b.setInsertionPointToStart(b.createBlock(&entry.getBody()));
  EntryBuilder e(b, b.getLoc());
  // A launch that cuts heads by features or positions, or has steps, has one kernel op.
  Lowering first{b, kernels.front(), skipsIdleState};
  if (first.info.cut().getSplits() > 1)
    return SplitKernels(first).write(e, first.info.tensors.gridOf(b, first.info.programs()));
  if (first.info.hasSegments())
    return SegmentKernels(first).write(e);
  if (first.info.steps().getTokens())
    TokenKernels(first).write(e);
  PlacedStateKernels(first).writeWorkspaces(e);
  SumsOfKernels all(attention, kernels);
  EntryBuilder::Uses sums;
  for (const KernelInfo &kernel : kernels)
    writeWhole(e, Lowering{b, kernel, skipsIdleState}, sums);
  all.write(e, b, sums);
  if (attention.hasStatesInPlace())
    PlacedStateKernels(first).writeStage(e);
}

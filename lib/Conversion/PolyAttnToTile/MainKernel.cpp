//===- MainKernel.cpp - the tile kernel that computes rows ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MainKernel.h"
#include "ChunkwiseKernels.h"
#include "ConvolutionKernels.h"
#include "KernelProgram.h"
#include "StageKernels.h"

using namespace mlir;
using namespace polyattn;

/// Opens the kernel that computes the results.
static OpenKernel openMain(const Lowering &lowering) {
  const KernelInfo &info = lowering.info;
  if (info.cut().getSplits() > 1)
    return SplitKernels(lowering).openMain();
  if (info.hasSegments())
    return SegmentKernels(lowering).openMain();
  PlacedStateKernels placed(lowering);
  return OpenKernel(lowering, info.name(),
                    info.hasGroups() ? info.groupTensors(lowering.b) : placed.tensors(),
                    placed.mainPrograms(), Stage::Heads, /*states=*/{}, info.cut().getCluster());
}

MainKernel::MainKernel(const Lowering &lowering)
    : info(lowering.info), b(lowering.b), kernel(openMain(lowering)) {}

void MainKernel::build() {
  if (info.hasBlocks())
    return kernel.forBlocks([&](Value position) { buildOneOfBlocks(position); });
  auto blocks = [&] { buildBlocks(); };
  int64_t tokens = info.steps().getTokens();
  kernel.forBatches([&] { tokens ? kernel.ifLonger(tokens, blocks) : blocks(); });
}

/// The block at `position` of rows that wait for no other. A call that is short enough is its only
/// one.
void MainKernel::buildOneOfBlocks(Value position) {
  SmallVector<int64_t> lengths = info.shortBlocks();
  llvm::erase_if(lengths, [&](int64_t length) { return length > info.block(); });
  buildShortOrLong(lengths, [&] {
    KernelProgram(info, ScheduleForm::Quadratic, kernel.context()).buildRows(b, position);
  });
}

/// Few tokens that go on with a state are one block, and the rows of a longer one would be padding.
/// Sums have the terms in the same order, so that bits do not depend on what the last call of a
/// prefill has.
void MainKernel::buildBlocks() {
  auto all = [&] { buildShortOrLong(info.shortBlocks(), [&] { buildForms(); }); };
  int64_t fewTokens = info.steps().getFew();
  if (!fewTokens || info.steps().getTokens() >= fewTokens)
    return all();
  Value areFew =
      b.compare(arith::CmpIPredicate::sle, kernel.frame.sequence.queries, b.index(fewTokens));
  auto few = [&] {
    ProgramContext inShort = kernel.context();
    inShort.block = fewTokens;
    KernelProgram(info, ScheduleForm::State, inShort).build(b);
  };
  b.branch(areFew, few, all);
}

/// One block of the first of `lengths` for calls that it is long enough for, of the next one for
/// others, and what longer calls have.
void MainKernel::buildShortOrLong(ArrayRef<int64_t> lengths, TileBuilder::Branch longer) {
  if (lengths.empty())
    return longer();
  // Without keys there is no row that a load could take instead of those past the end.
  Value last = b.subIndex(kernel.frame.sequence.keys, b.index(1));
  Value isShort = b.compare(arith::CmpIPredicate::ult, last, b.index(lengths[0]));
  branch(
      isShort, [&] { KernelProgram::buildOneBlock(b, info, kernel.context(), lengths[0]); },
      [&] { buildShortOrLong(lengths.drop_front(), longer); });
}

/// Emits `few` for calls that are short and whose heads are not cut, `many` for the others.
void MainKernel::branch(Value isShort, TileBuilder::Branch few, TileBuilder::Branch many) {
  if (Value isAlone = kernel.share->isAlone(b))
    isShort = arith::AndIOp::create(b, isShort, isAlone);
  if (kernel.segment) {
    Value isWhole = b.isEqual(kernel.segment->segments, b.index(1));
    isShort = arith::AndIOp::create(b, isShort, isWhole);
  }
  b.branch(isShort, few, many);
}

/// The form with a state, and the quadratic one for calls that are too short for it.
void MainKernel::buildForms() {
  int64_t below = info.quadraticBelow();
  if (!below)
    return buildForm(ScheduleForm::State);
  Value isShort = b.compare(arith::CmpIPredicate::slt, kernel.frame.sequence.keys, b.index(below));
  branch(
      isShort, [&] { buildForm(ScheduleForm::Quadratic); },
      [&] { buildForm(ScheduleForm::State); });
}

/// The quadratic form has no features to cut, and its positions are never cut: it would have to see
/// all keys.
void MainKernel::buildForm(ScheduleForm form) {
  ProgramContext program = kernel.context();
  if (form == ScheduleForm::Quadratic) {
    program.share = std::make_shared<AllFeatures>();
    program.segment.reset();
  }
  KernelProgram(info, form, program).build(b);
}

/// Blocks that are computed each by itself, after the kernels of the states that they read.
static void buildChunkwise(const Lowering &lowering) {
  const KernelInfo &info = lowering.info;
  TileBuilder &b = lowering.b;
  ChunkwiseKernels kernels(info, info.name(), lowering.skipsIdleState);
  kernels.buildStates(b, info.attention);
  OpenKernel kernel(lowering, info.name(),
                    info.hasGroups() ? info.groupTensors(b) : SmallVector<HiddenArgument>(),
                    info.blockPrograms(b), Stage::Heads, kernels.stateTensors(b));
  kernel.forBlocks([&](Value position) {
    kernels.buildQueries(b, kernel.firstState, position, kernel.context());
  });
}

void polyattn::buildKernels(const Lowering &lowering) {
  const KernelInfo &info = lowering.info;
  if (convolutionIn(info.kernel))
    return ConvolutionKernels(lowering).build();
  if (info.segment()) {
    buildChunkwise(lowering);
  } else {
    if (info.cut().getSplits() > 1)
      SplitKernels(lowering).build();
    MainKernel(lowering).build();
  }
  if (info.hasGroups())
    buildGroupKernel(lowering);
  if (info.hasSegments())
    SegmentKernels(lowering).build();
  if (info.attention.hasStatesInPlace())
    PlacedStateKernels(lowering).build();
  if (info.steps().getTokens())
    TokenKernels(lowering).build();
}

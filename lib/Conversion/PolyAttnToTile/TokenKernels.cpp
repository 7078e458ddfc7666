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
// An attend with a window has no state: the step goes over its ring. A window that slides in front
// of a state hands on one key with each token, which comes out of the ring.
//
// Some tokens are as many steps, one after another in one program (`one_by_one`): a call of them
// has the bits of as many calls, and each token reads what the one before has left in the state and
// in pools. Some more are one short block, in `@name__few`: a copy of the state is updated by the
// block, and stored where the state lives once all query heads that share it have read it. So
// there is no workspace, which would be as large as all states. It is a kernel of its own since a
// step needs few registers and little shared memory, so that a multiprocessor has many of them.
//
//===----------------------------------------------------------------------===//

#include "StageKernels.h"
#include "TokenProgram.h"

using namespace mlir;
using namespace polyattn;

/// For each attend the fields of StepVectors, in their order.
SmallVector<TokenKernels::StepTensor> TokenKernels::stepTensors() const {
  SmallVector<StepTensor> tensors;
  if (!info.steps().getBatches())
    return tensors;
  for (auto [i, op] : llvm::enumerate(info.attends)) {
    AttendOp attend = op;
    if (!attend.getState())
      continue;
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

/// The grid of `__few`; empty in calls that `__step` computes.
KernelPrograms TokenKernels::fewPrograms() const {
  KernelPrograms programs = info.programs();
  programs.perHead = ifLongerThan(lowering, info.steps().getOneByOne(), 1);
  return programs;
}

void TokenKernels::build() const {
  int64_t oneByOne = info.steps().getOneByOne();
  if (info.steps().getTokens() > oneByOne)
    buildFew();
  OpenKernel kernel(lowering, lowering.named("__step"), workspaces(), info.programs());
  ProgramContext step = kernel.context();
  step.block = 1;
  kernel.ifAtMost(oneByOne, [&] { TokenProgram(info, step).buildStep(lowering.b); });
  if (info.steps().getBatches())
    buildVectors();
}

/// Runs for calls that may have batches of more tokens than there are steps for.
void TokenKernels::buildFew() const {
  OpenKernel kernel(lowering, lowering.named("__few"), {}, fewPrograms());
  ProgramContext few = kernel.context();
  few.block = info.steps().getFew();
  few.hasGroup = !info.tensors.sameHeads && !info.hasStatePerQuery();
  auto build = [&] { TokenProgram(info, few).buildFew(lowering.b); };
  kernel.ifLonger(info.steps().getOneByOne(),
                  [&] { kernel.ifAtMost(info.steps().getTokens(), build); });
}

/// Runs for calls that may have batches of one token.
void TokenKernels::buildVectors() const {
  TileBuilder &b = lowering.b;
  OpenKernel kernel(lowering, lowering.named("__vectors"), workspaces(), vectorPrograms());
  ProgramContext batches = kernel.context();
  batches.block = StepsAttr::kBatchesPerProgram;
  auto build = [&] {
    TokenProgram program(info, batches);
    b.branch(program.hasVectors(b), [&] { program.buildVectors(b); });
  };
  // Fewer batches compute their vectors in the step, in f32: the bits must be the same.
  if (info.steps().getBatches() > 1)
    b.inFullPrecision(build);
  else
    build();
}

/// The stages of batches of few tokens, which have none of the workspaces of longer ones.
void TokenKernels::write(EntryBuilder &e) const {
  const KernelTensors &kernel = info.tensors;
  if (info.steps().getTokens() > info.steps().getOneByOne())
    e.stage(lowering.named("__few"), kernel.gridOf(lowering.b, fewPrograms()),
            tile::StageRole::Few);
  tile::ExtentAttr batch = kernel.batches(lowering.b.getContext(), kernel.queryTensor);
  for (const auto &[tensor, ofQueries] : stepTensors())
    e.workspace(tensor, {batch, e.dimension(ofQueries ? kernel.queryHeads : kernel.keyHeads, 2)});
  if (info.steps().getBatches())
    e.stage(lowering.named("__vectors"), kernel.gridOf(lowering.b, vectorPrograms()),
            tile::StageRole::Vectors);
  e.stage(lowering.named("__step"), kernel.gridOf(lowering.b, info.programs()),
          tile::StageRole::Step);
  e.forgetWorkspaces();
}

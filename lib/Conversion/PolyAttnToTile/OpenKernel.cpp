//===- OpenKernel.cpp - a tile kernel that is being built -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpenKernel.h"
#include "SavedTensors.h"
#include "dialects/PolyAttn/FeatureParts.h"

using namespace mlir;
using namespace polyattn;

static KernelFrame openFrame(const Lowering &lowering, StringRef name,
                             ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs,
                             int64_t cluster) {
  lowering.b.setInsertionPoint(lowering.info.attention);
  KernelTensors tensors = lowering.info.tensors;
  tensors.cluster = cluster;
  return KernelFrame(lowering.b, name, tensors, workspaces, programs);
}

OpenKernel::OpenKernel(const Lowering &lowering, StringRef name,
                       ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs,
                       int64_t cluster)
    : frame(openFrame(lowering, name, workspaces, programs, cluster)), lowering(lowering) {
  // Where the body is that of a program with features of its own, these are all.
  if (frame.clusterRank && featurePartsOf(lowering.info.attention) == 1)
    share = std::make_shared<ClusterShare>(frame.clusterRank, cluster);
  else
    share = std::make_shared<AllFeatures>();
}

static ArrayRef<StoredResult> savedIn(const KernelInfo &info, Stage stage) {
  return stage == Stage::Heads ? info.saved : info.savedSums;
}

/// The workspaces of sums, saved results, rows that are passed and states, in this order.
static SmallVector<HiddenArgument> withResults(const Lowering &lowering,
                                               ArrayRef<HiddenArgument> workspaces, Stage stage,
                                               ArrayRef<HiddenArgument> states) {
  TileBuilder &b = lowering.b;
  const KernelInfo &info = lowering.info;
  SmallVector<HiddenArgument> all(workspaces);
  llvm::append_range(all, WeightSums::tensorsOf(b, info, stage));
  llvm::append_range(all, workspacesOf(b, savedIn(info, stage)));
  for (const auto &passed : {info.exported, info.imported})
    for (const StoredResult &rows : passed)
      all.push_back(rows.workspaceOfRows(b));
  llvm::append_range(all, states);
  return all;
}

OpenKernel::OpenKernel(const Lowering &lowering, StringRef name,
                       ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs,
                       Stage stage, ArrayRef<HiddenArgument> states, int64_t cluster)
    : OpenKernel(lowering, name, withResults(lowering, workspaces, stage, states), programs,
                 cluster) {
  const KernelInfo &info = lowering.info;
  const KernelInfo *beside = stage == Stage::Heads ? info.beside.get() : nullptr;
  unsigned next = workspaces.size();
  if (!info.sums.empty())
    weightSums.emplace(lowering.b, info.sums, next);
  next += info.sums.size();
  if (beside && !beside->sums.empty())
    besideSums.emplace(lowering.b, beside->sums, next);
  next += beside ? beside->sums.size() : 0;
  for (const StoredResult &saved : savedIn(info, stage))
    passed.saved.insert({saved.value(), frame.workspace(next++)});
  for (size_t i = 0; i < info.exported.size(); ++i)
    passed.exported.push_back(frame.workspace(next++));
  for (const StoredResult &imported : info.imported)
    frame.weights.bindRows(imported.result, frame.workspace(next++));
  firstState = next;
}

ProgramContext OpenKernel::context() {
  const KernelInfo &info = lowering.info;
  PassedResults results = passed;
  results.weightSums = weightSums ? &*weightSums : nullptr;
  results.besideSums = besideSums ? &*besideSums : nullptr;
  return {frame,
          share,
          segment,
          info.block(),
          info.block(),
          info.run,
          info.mask,
          lowering.skipsIdleState,
          std::move(results)};
}

void OpenKernel::storeSums() {
  weightSums->store(lowering.b, frame);
  if (besideSums)
    besideSums->store(lowering.b, frame);
}

void OpenKernel::forBatches(TileBuilder::Branch body) {
  if (!weightSums)
    return body();
  frame.forBatches(lowering.b, weightSums->countParts(lowering.b, frame), body);
  storeSums();
}

void OpenKernel::forBlocks(function_ref<void(Value)> body) {
  TileBuilder &b = lowering.b;
  int64_t length = lowering.info.block();
  if (!weightSums)
    return body(b.mulIndex(frame.segment, b.index(length)));
  frame.forBlocks(b, weightSums->countParts(b, frame), length, body);
  storeSums();
}

void OpenKernel::ifLonger(int64_t tokens, TileBuilder::Branch body) {
  TileBuilder &b = lowering.b;
  b.branch(b.compare(arith::CmpIPredicate::sgt, frame.sequence.queries, b.index(tokens)), body);
}

void OpenKernel::ifAtMost(int64_t tokens, TileBuilder::Branch body) {
  TileBuilder &b = lowering.b;
  b.branch(b.compare(arith::CmpIPredicate::sle, frame.sequence.queries, b.index(tokens)), body);
}

//===- GroupSums.cpp - rows of keys, sums over groups of query heads ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where rows are of keys (attend, `of_keys`), a program is a head of queries, as elsewhere. What it
// has of its rows it stores in a workspace, in f32 whatever tensors hold, and a second kernel adds
// up the heads of a group, always in one order. The group as a loop of one program would need no
// workspace with heads of queries, but leave processors idle where there are few heads of keys. A
// group of one head has nothing to add: its program writes the results.
//
// A state that belongs to the head of keys is such a sum, too: the part of the first head of a
// group begins with the initial state, those of the others with zeros, and the final state is the
// sum of all.
//
//===----------------------------------------------------------------------===//

#include "GroupSums.h"
#include "KernelProgram.h"
#include "PartSums.h"
#include "StageKernels.h"
#include "dialects/PolyAttn/FeatureParts.h"

using namespace mlir;
using namespace polyattn;

static bool isSumOfHeads(AttendOp attend) {
  return attend.getOfKeys() && attend.getGateHeads() != GateHeads::Q;
}

SmallVector<AttendOp> KernelInfo::groupAttends() const {
  SmallVector<AttendOp> found;
  if (!hasGroups())
    return found;
  llvm::copy_if(attends, std::back_inserter(found),
                [&](AttendOp attend) { return isSumOfHeads(attend) && attend.getFinalState(); });
  return found;
}

bool KernelInfo::savesSum(AttendOp attend) const {
  return llvm::any_of(savedSums, [&](const StoredResult &saved) {
    return saved.value().getDefiningOp() == attend;
  });
}

/// The width of an attend's rows, of all programs that share features.
static int64_t widthOfAll(AttendOp attend) {
  int64_t width = cast<FeatureType>(attend.getValue().getType()).getWidth();
  bool isPart = hasOwnFeatures(attend.getValue());
  return isPart ? width * featurePartsOf(attend->getParentOfType<AttentionOp>()) : width;
}

/// Rows are [B, T, H, columns], states [B, H, D, dv] of each query head.
SmallVector<HiddenArgument> KernelInfo::groupTensors(Builder &b) const {
  constexpr int64_t any = ShapedType::kDynamic;
  std::string name = "heads_" + stringifyMask(mask).str();
  SmallVector<HiddenArgument> tensors;
  if (hasRows) {
    int64_t columns = 0;
    for (AttendOp attend : attends)
      columns += widthOfAll(attend);
    tensors.push_back({name, RankedTensorType::get({any, any, any, columns}, b.getF32Type())});
  }
  for (auto [i, attend] : llvm::enumerate(groupAttends()))
    tensors.push_back({(name + "_state" + Twine(i)).str(),
                       cast<RankedTensorType>(attend.getFinalStates()[0].getType())});
  return tensors;
}

Value GroupParts::isOneHead(TileBuilder &b) const {
  return b.isEqual(frame.heads.countGroup(b), b.index(1));
}

Value GroupParts::ofState(AttendOp attend) const {
  SmallVector<AttendOp> summed = info.groupAttends();
  auto it = llvm::find(summed, attend);
  if (it == summed.end())
    return {};
  return frame.workspace((info.hasRows ? 1 : 0) + (it - summed.begin()));
}

/// Emits the body of the second kernel, for one batch.
static void buildGroupSums(TileBuilder &b, const KernelInfo &info, const ProgramContext &context) {
  const KernelFrame &frame = context.frame;
  KernelProgram program(info, ScheduleForm::State, context);
  PartSums parts(info, context);
  GroupParts group(info, frame);
  Value heads = frame.heads.countGroup(b);
  auto addHeads = [&](const BlockSpan &span) {
    program.storeSums(b, span, parts.add(b, heads, span, [&](Value i) {
      return SmallVector<Value>{frame.sequence.batch, frame.sequence.rowOf(b, span.position),
                                frame.heads.ofGroup(b, i)};
    }));
  };
  auto addStates = [&](bool areKept) {
    for (AttendOp attend : info.attends)
      if (Value parts = group.ofState(attend); parts && info.savesSum(attend) == areKept)
        program.stateOf(attend).tensors().sumParts(b, parts, program.tensorsOfState(attend));
  };
  Value isShared = b.compare(arith::CmpIPredicate::ne, heads, b.index(1));
  b.branch(isShared, [&] {
    if (info.hasRows)
      context.sweep(b).forBlocks(b, addHeads);
    addStates(/*areKept=*/false);
  });
  addStates(/*areKept=*/true);
}

void polyattn::buildGroupKernel(const Lowering &lowering) {
  const KernelInfo &info = lowering.info;
  KernelPrograms programs = info.programs();
  programs.keyHeads = false;
  OpenKernel kernel(lowering, lowering.named("__groups"), info.groupTensors(lowering.b), programs,
                    Stage::Groups, /*states=*/{}, featurePartsOf(info.attention));
  kernel.forBatches([&] { buildGroupSums(lowering.b, info, kernel.context()); });
}

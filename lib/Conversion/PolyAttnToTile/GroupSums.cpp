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
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "KernelProgram.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What programs have of their rows: [B, T, H, columns].
SmallVector<HiddenArgument> KernelBuilder::groupTensors() {
  constexpr int64_t any = ShapedType::kDynamic;
  return {{set.groupWorkspace(), RankedTensorType::get({any, any, any, any}, b.getF32Type())}};
}

/// The kernel that adds the heads of a group and writes the results.
void KernelBuilder::buildGroupKernel() {
  set.tensors.cluster = 1; // it has no features to share
  KernelPrograms programs = set.programs();
  programs.keyHeads = false;
  beginUncut(name + "__groups", groupTensors(), programs);
  buildProgram([&] { KernelProgram(set, ScheduleForm::State, context()).buildGroupSums(b); });
}

std::string AttendSet::groupWorkspace() const { return "heads_" + stringifyMask(mask()).str(); }

int64_t AttendSet::groupColumns() const {
  int64_t columns = 0;
  for (AttendOp attend : attends)
    columns += cast<FeatureType>(attend.getValue().getType()).getWidth();
  return columns;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Value isOneHead(TileBuilder &b, const KernelFrame &frame) {
  return b.isEqual(frame.headsOfGroup(b), b.index(1));
}

void KernelProgram::storeGroupPart(TileBuilder &b, TileBuilder::Branch results,
                                   TileBuilder::Branch part) {
  b.branch(isOneHead(b, context.frame), results, part);
}

void KernelProgram::buildGroupSums(TileBuilder &b) {
  const KernelFrame &frame = context.frame;
  Value heads = frame.headsOfGroup(b);
  auto addHeads = [&](const BlockSpan &span) {
    SmallVector<Accumulators> accumulators = addParts(b, heads, span, [&](Value i) {
      return SmallVector<Value>{frame.batch, frame.rowOf(b, span.position),
                                frame.headOfGroup(b, i)};
    });
    VectorProgram vectors = context.queryVectors(b, span);
    storeResults(b, accumulators, vectors, span);
  };
  Value isShared = b.compare(arith::CmpIPredicate::ne, heads, b.index(1));
  b.branch(isShared, [&] { context.sweep(b).forBlocks(b, addHeads); });
}

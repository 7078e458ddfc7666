//===- SplitKernels.cpp - programs that share a head by its features ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "PartSums.h"
#include "StageKernels.h"

using namespace mlir;
using namespace polyattn;

/// What programs that share a head have between them: the accumulators of all parts, and the four
/// numbers of a launch: a program's first part, the one behind its last, the position of the first
/// row, and how many rows come after the last.
SmallVector<HiddenArgument> SplitKernels::tensors() const {
  TileBuilder &b = lowering.b;
  SmallVector<int64_t> shape(5, ShapedType::kDynamic);
  return {{"partial", RankedTensorType::get(shape, b.getF32Type())},
          {"launch", RankedTensorType::get({4}, b.getI64Type())}};
}

/// Opens a kernel whose programs have the parts of a launch.
OpenKernel SplitKernels::open(StringRef name) const {
  TileBuilder &b = lowering.b;
  OpenKernel kernel(lowering, name, tensors());
  auto number = [&](int64_t i) -> Value {
    Value value = memref::LoadOp::create(b, kernel.frame.workspace(1), b.index(i));
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  Value first = number(0), behind = number(1), base = number(2), left = number(3);
  Value parts = memref::DimOp::create(b, kernel.frame.workspace(0), b.index(0));
  kernel.share = std::make_shared<LaunchedParts>(first, behind, parts, base, left);
  return kernel;
}

OpenKernel SplitKernels::openMain() const { return open(info.name()); }

/// The kernel that adds the parts of a head, normalizes and writes the results. The programs take
/// turns, block by block: to them the numbers of a launch are which of them it is and how many
/// there are.
void SplitKernels::build() const {
  TileBuilder &b = lowering.b;
  OpenKernel kernel = open(lowering.named("__combine"));
  const auto &own = static_cast<const LaunchedParts &>(*kernel.share);
  const KernelFrame &frame = kernel.frame;
  ProgramContext context = kernel.context();
  KernelProgram program(info, ScheduleForm::State, context);
  PartSums parts(info, context);
  Value queries = frame.sequence.queries, length = b.index(context.block);
  Value first = b.mulIndex(own.first, length), stride = b.mulIndex(own.behind, length);
  b.loop(first, queries, stride, [&](Value position) {
    Value valid = b.minIndex(b.subIndex(queries, position), length);
    BlockSpan span{position, valid, position, queries};
    program.storeSums(b, span, parts.add(b, own.parts, span, [&](Value part) {
      return SmallVector<Value>{part, frame.sequence.batch, frame.sequence.rowOf(b, span.position),
                                frame.heads.ofRows()};
    }));
  });
}

/// What a part stores for each position.
static int64_t partialColumns(const KernelInfo &info) {
  int64_t columns = 0;
  for (AttendOp attend : info.attends)
    columns += attend.getValue().getType().getWidth() + attend.getNormalizer().hasDenominator();
  return columns;
}

void SplitKernels::write(EntryBuilder &e, ArrayAttr programs) const {
  int64_t query = info.tensors.queryTensor;
  tile::ExtentAttr splits = e.choice(tile::ExtentBase::Splits), positions = e.dimension(query, 1);
  SmallVector<HiddenArgument> hidden = tensors();
  e.workspace(hidden[0], {splits, info.tensors.batches(lowering.b.getContext(), query), positions,
                          e.dimension(info.tensors.queryHeads, 2), e.number(partialColumns(info))});
  e.workspace(hidden[1], {}, tile::WorkspaceFill::Launch);
  e.stage(info.name(), programs).setPerSplit(true);
  e.stage(lowering.named("__combine"), programs, tile::StageRole::Combine);
  tile::ChooseOp choice = e.choose(tile::ExtentBase::Splits, positions);
  choice.setMax(info.cut().getSplits());
  choice.setMultiple(std::max(info.block(), info.run));
  choice.setMinPositions(info.quadraticBelow()); // shorter calls have nothing to cut
}

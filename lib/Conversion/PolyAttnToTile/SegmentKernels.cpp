//===- SegmentKernels.cpp - programs that share a head by its positions ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelProgram.h"
#include "StageKernels.h"

using namespace mlir;
using namespace polyattn;

/// For each state the fields of SegmentStates, in their order.
SmallVector<HiddenArgument> SegmentKernels::tensors() const {
  TileBuilder &b = lowering.b;
  SmallVector<HiddenArgument> tensors;
  constexpr int64_t any = ShapedType::kDynamic;
  for (auto [i, state] : llvm::enumerate(info.states)) {
    std::string number = info.states.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, ArrayRef<int64_t> shape) {
      tensors.push_back({(name + number).str(), RankedTensorType::get(shape, b.getF32Type())});
    };
    BlockState::Shape shape = StateProgram::shapeOf(state, /*featureBlock=*/1);
    add("segment_states", {any, any, any, shape.range.features, shape.width});
    if (shape.hasNormalizer)
      add("segment_normalizers", {any, any, any, shape.range.features});
    if (StateUpdateInterface(state).hasDecayOfFeatures())
      add("segment_decays", {any, any, any, shape.range.features});
    else if (StateUpdateInterface(state).hasDecay())
      add("segment_decays", {any, any, any});
  }
  return tensors;
}

/// A program's positions: all segments have one length but the last ones, and so have the
/// subsegments of a segment.
SegmentContext SegmentKernels::segmentOf(const KernelFrame &frame, bool isPrefix) const {
  TileBuilder &b = lowering.b;
  Value unit = b.index(std::max(info.block(), info.run)), one = b.index(1);
  Value subsegments = b.index(info.cut().getSubsegments()), keys = frame.sequence.keys;
  auto times = [&](Value a, Value c) { return b.createOrFold<arith::MulIOp>(a, c); };
  auto divide = [&](Value number, Value by) -> Value { // rounding up
    Value before = b.subIndex(b.addIndex(number, by), one);
    return b.divIndex(before, by);
  };
  Value states = memref::DimOp::create(b, frame.workspace(0), b.index(0));
  Value segments = b.addIndex(b.createOrFold<arith::DivUIOp>(states, subsegments), one);
  Value units = divide(divide(keys, unit), segments);
  Value length = b.mulIndex(units, unit);
  Value segment = frame.segment;
  // Backwards the first segment's state is not stored, and that of the last one is behind all
  // others.
  bool forwards = info.mask == Mask::Causal;
  Value number = isPrefix && !forwards && info.cut().getSubsegments() == 1
                     ? b.addIndex(segment, one)
                     : segment;
  Value behind = forwards ? segment : b.subIndex(b.subIndex(segments, one), segment);
  Value statesBehind = times(behind, subsegments);
  if (!isPrefix || info.cut().getSubsegments() == 1) {
    Value begin = b.minIndex(times(number, length), keys);
    Value end = b.minIndex(b.addIndex(begin, length), keys);
    return SegmentContext{segment, segments, begin, end, statesBehind};
  }
  Value whole = b.divIndex(segment, subsegments);
  if (!forwards)
    whole = b.addIndex(whole, one);
  Value subsegment = arith::RemUIOp::create(b, segment, subsegments);
  Value subsegmentLength = times(divide(units, subsegments), unit), first = times(whole, length);
  Value limit = b.minIndex(b.addIndex(first, length), keys);
  Value begin = b.minIndex(b.addIndex(first, times(subsegment, subsegmentLength)), limit);
  Value end = b.minIndex(b.addIndex(begin, subsegmentLength), limit);
  return SegmentContext{segment, segments, begin, end, statesBehind};
}

/// The programs that sum up all segments but the one where the sweep ends: a program is a head of
/// the state.
KernelPrograms SegmentKernels::prefixPrograms() const {
  return {tile::ExtentAttr::choice(lowering.b.getContext(), tile::ExtentBase::Segments, -1,
                                   info.cut().getSubsegments()),
          /*keyHeads=*/!info.hasStatePerQuery()};
}

/// The programs that compute the results.
KernelPrograms SegmentKernels::mainPrograms() const {
  return {tile::ExtentAttr::choice(lowering.b.getContext(), tile::ExtentBase::Segments)};
}

OpenKernel SegmentKernels::open(StringRef name, const KernelPrograms &programs,
                                bool isPrefix) const {
  OpenKernel kernel(lowering, name, tensors(), programs, info.cut().getCluster());
  kernel.segment = segmentOf(kernel.frame, isPrefix);
  return kernel;
}

OpenKernel SegmentKernels::openMain() const {
  return open(info.name(), mainPrograms(), /*isPrefix=*/false);
}

/// The kernel that stores what each segment but the one where the sweep ends adds to the state.
void SegmentKernels::build() const {
  OpenKernel kernel = open(lowering.named("__prefix"), prefixPrograms(), /*isPrefix=*/true);
  KernelProgram(info, ScheduleForm::State, kernel.context()).buildPrefix(lowering.b);
}

void SegmentKernels::write(EntryBuilder &e) const {
  TileBuilder &b = lowering.b;
  const KernelTensors &kernel = info.tensors;
  int64_t query = kernel.queryTensor,
          heads = info.hasStatePerQuery() ? kernel.queryHeads : kernel.keyHeads;
  for (const HiddenArgument &tensor : tensors())
    e.workspace(tensor, {prefixPrograms().perHead, kernel.batches(b.getContext(), query),
                         e.dimension(heads, 2)});
  e.stage(lowering.named("__prefix"), kernel.gridOf(b, prefixPrograms()),
          tile::StageRole::SegmentSums);
  e.stage(info.name(), kernel.gridOf(b, mainPrograms()));
  tile::ChooseOp choice = e.choose(tile::ExtentBase::Segments, e.dimension(query, 1));
  choice.setBlock(info.block());
  choice.setMultiple(std::max(info.block(), info.run));
  choice.setMinPositions(info.quadraticBelow()); // shorter calls have no state
  choice.setPrefixCostPercent(info.cut().getPrefixCost());
  choice.setSubsegments(info.cut().getSubsegments());
}

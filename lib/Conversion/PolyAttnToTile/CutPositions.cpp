//===- CutPositions.cpp - programs that share a head by its positions -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "KernelProgram.h"

using namespace mlir;
using namespace polyattn;

/// A segment needs all that the positions behind it say in one state, which has rows.
bool KernelBuilder::canCutPositions() {
  return set.mask != Mask::Full &&
         llvm::all_of(
             set.schedules,
             [](const Schedule &schedule) { return schedule.form != ScheduleForm::Quadratic; }) &&
         llvm::all_of(set.states, [](StateOp state) {
           return StateProgram::shapeOf(state, /*featureBlock=*/1).width != 0;
         });
}

/// For each state the fields of SegmentStates, in their order.
SmallVector<HiddenArgument> KernelBuilder::segmentTensors() {
  SmallVector<HiddenArgument> tensors;
  constexpr int64_t any = ShapedType::kDynamic;
  for (auto [i, state] : llvm::enumerate(set.states)) {
    std::string number = set.states.size() > 1 ? std::to_string(i) : "";
    auto add = [&](StringRef name, ArrayRef<int64_t> shape) {
      tensors.push_back({(name + number).str(), RankedTensorType::get(shape, b.getF32Type())});
    };
    BlockState::Shape shape = StateProgram::shapeOf(state, /*featureBlock=*/1);
    add("segment_states", {any, any, any, shape.range.features, shape.width});
    if (shape.hasNormalizer)
      add("segment_normalizers", {any, any, any, shape.range.features});
    if (StateOp(state).hasDecay())
      add("segment_decays", {any, any, any});
  }
  return tensors;
}

/// A program's positions: all segments have one length but the last ones, and so have the
/// subsegments of a segment.
SegmentContext KernelBuilder::segmentOf(bool isPrefix) {
  Value unit = b.index(std::max(set.block(), set.run)), one = b.index(1);
  Value subsegments = b.index(options.subsegments), keys = frame->keys;
  auto times = [&](Value a, Value c) { return b.createOrFold<arith::MulIOp>(a, c); };
  auto divide = [&](Value number, Value by) -> Value { // rounding up
    Value before = b.subIndex(b.addIndex(number, by), one);
    return b.divIndex(before, by);
  };
  Value states = memref::DimOp::create(b, frame->workspace(0), b.index(0));
  Value segments = b.addIndex(b.createOrFold<arith::DivUIOp>(states, subsegments), one);
  Value units = divide(divide(keys, unit), segments);
  Value length = b.mulIndex(units, unit);
  Value segment = frame->segment;
  // Backwards the first segment's state is not stored, and that of the last one is behind all
  // others.
  bool forwards = set.mask == Mask::Causal;
  Value number =
      isPrefix && !forwards && options.subsegments == 1 ? b.addIndex(segment, one) : segment;
  Value behind = forwards ? segment : b.subIndex(b.subIndex(segments, one), segment);
  Value statesBehind = times(behind, subsegments);
  if (!isPrefix || options.subsegments == 1) {
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
KernelPrograms KernelBuilder::sumPrograms() {
  return {
      tile::ExtentAttr::choice(b.getContext(), tile::ExtentBase::Segments, -1, options.subsegments),
      /*keyHeads=*/!set.hasStatePerQuery()};
}

/// The programs that compute the results.
KernelPrograms KernelBuilder::mainPrograms() {
  if (steppedTokens) {
    KernelPrograms programs = set.programs();
    programs.perHead = ifLongerThan(steppedTokens, 1);
    return programs;
  }
  if (!hasSegments)
    return set.programs();
  return {tile::ExtentAttr::choice(b.getContext(), tile::ExtentBase::Segments)};
}

/// The kernel that stores what each segment but the one where the sweep ends adds to the state.
void KernelBuilder::buildPrefixKernel() {
  beginKernel(name + "__prefix", segmentTensors(), sumPrograms());
  segment = segmentOf(/*isPrefix=*/true);
  KernelProgram(set, ScheduleForm::State, context()).buildPrefix(b);
}

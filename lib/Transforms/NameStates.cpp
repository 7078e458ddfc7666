//===- NameStates.cpp - say which states attends read ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/ContractedState.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_NAMESTATES
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

/// Whether what an attend's schedule asks for exists.
static LogicalResult checkSchedule(AttendOp attend, const Schedule &schedule) {
  AttentionShape shape = AttentionShape::of(attend, schedule);
  bool mayLackState =
      schedule.form == ScheduleForm::Quadratic || schedule.form == ScheduleForm::Both;
  if (mayLackState && shape.needsState)
    return attend.emitError("the schedule has no state, but one is asked for");
  if (schedule.form == ScheduleForm::Chunkwise && schedule.quadraticBelow && shape.needsState)
    return attend.emitError("the schedule has no state in calls of fewer than ")
           << schedule.quadraticBelow << " positions, but one is asked for";
  if (schedule.form != ScheduleForm::Quadratic && !shape.hasFeatures)
    return attend.emitError("the schedule asks for a state, but these scores have no features");
  if (schedule.form != ScheduleForm::Quadratic && shape.features > AttendOp::kMaxStateWidth)
    return attend.emitError("a state of ")
           << shape.features << " features is too large to compute with, the limit is "
           << AttendOp::kMaxStateWidth;
  if (shape.decaysFeatures && (schedule.form != ScheduleForm::State || schedule.contracted ||
                               schedule.diagonal != ScheduleDiagonal::Features))
    return attend.emitError("a decay of each feature needs the schedule's form `state`, with a "
                            "diagonal computed from features");
  if (schedule.contracted && !ContractedState::of(attend))
    return attend.emitError("the schedule contracts the state, but the value is no factor of keys "
                            "that are products of two plain vectors");
  if (schedule.contracted && attend.getStateEvery())
    return attend.emitError("the schedule contracts the state, which is not that after blocks");
  return success();
}

/// The state of a key and a value with the attend's recurrence: the op that has its transition.
static StateUpdateInterface stateOf(OpBuilder &builder, AttendOp attend, Value key, Value value,
                                    bool lastApart) {
  auto flag = [&](bool isSet) { return isSet ? builder.getUnitAttr() : UnitAttr(); };
  if (attend.hasDecayOfFeatures())
    return ChannelStateOp::create(builder, attend.getLoc(), key, value, attend.getDecay(),
                                  attend.getInitialState(), attend.getInitialNormalizer(),
                                  attend.getMaskAttr(),
                                  flag(attend.getNormalizer().hasDenominator()),
                                  attend.getGateHeadsAttr(), attend.getGroupingAttr());
  return StateOp::create(
      builder, attend.getLoc(), key, value, attend.getDecay(), attend.getInitialState(),
      attend.getInitialNormalizer(), attend.getMaskAttr(),
      flag(attend.getNormalizer().hasDenominator()), attend.getDecayFactorsAttr(),
      attend.getGateHeadsAttr(), attend.getGroupingAttr(), attend.getInitialTransposedAttr(),
      attend.getOfKeysAttr(), attend.getLocalQuery() ? attend.getBlockAttr() : IntegerAttr(),
      attend.getSlidingAttr(), flag(lastApart));
}

/// The state of a contraction: that of pairs, unfolded.
static Value contractedStateOf(OpBuilder &builder, AttendOp attend) {
  Location loc = attend.getLoc();
  ContractedState contracted = *ContractedState::of(attend);
  Value pairs = PowerOp::create(builder, loc, contracted.keyFactor, /*degree=*/2,
                                /*symmetric=*/true, /*block=*/IntegerAttr(), /*abs=*/false);
  StateUpdateInterface state = stateOf(builder, attend, pairs, contracted.column,
                                       bool(contracted.column.getDefiningOp<ConcatOp>()));
  Value unfolded = UnfoldPairsOp::create(builder, loc, state.getSums(), contracted.factorIsLast);
  if (contracted.stateFactor == 1)
    return unfolded;
  return ScaleStateOp::create(builder, loc, unfolded, APFloat(contracted.stateFactor));
}

namespace {
struct NameStatesPass : polyattn::impl::NameStatesBase<NameStatesPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](AttendOp attend) {
      if (attend.getState())
        return WalkResult::advance();
      Schedule schedule = scheduleOf(attend);
      if (failed(checkSchedule(attend, schedule)))
        return WalkResult::interrupt();
      // What the default depends on is no operand of the attend any more.
      attend.setScheduleAttr(schedule.toAttribute(attend.getContext()));
      if (schedule.form == ScheduleForm::Quadratic || attend.getBlockStates())
        return WalkResult::advance();
      OpBuilder builder(attend);
      Value state = schedule.contracted
                        ? contractedStateOf(builder, attend)
                        : stateOf(builder, attend, attend.getKey(), attend.getValue(),
                                  /*lastApart=*/false)
                              .getSums();
      attend.getStateMutable().assign(state);
      attend.getInitialStateMutable().clear();
      attend.getInitialNormalizerMutable().clear();
      attend.removeInitialTransposedAttr();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

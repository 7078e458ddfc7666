//===- ChooseSchedule.cpp - decide how each attention is computed ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace polyattn {
#define GEN_PASS_DEF_CHOOSESCHEDULE
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

/// Says what was chosen and what the forms cost, for those who ask for remarks.
static void explain(AttendOp attend, const Schedule &schedule) {
  ScheduleCosts costs = ScheduleCosts::of(AttentionShape::of(attend, schedule), schedule.block);
  auto entry = attend->getParentOfType<AttentionOp>();
  auto opts = remark::RemarkOpts::name("Schedule").category("polyattn-choose-schedule");
  remark::analysis(attend.getLoc(), opts.function(entry.getSymName()))
      << remark::metric("form", stringifyScheduleForm(schedule.form))
      << remark::metric("diagonal", stringifyScheduleDiagonal(schedule.diagonal))
      << remark::metric("block", schedule.block)
      << remark::metric("feature_block", schedule.featureBlock)
      << remark::metric("quadratic_below", schedule.quadraticBelow)
      << remark::metric("contracted", int64_t(schedule.contracted))
      << remark::metric("short_blocks", int64_t(schedule.shortBlocks.size()))
      << remark::metric("cost_state", costs.state)
      << remark::metric("cost_diagonal_by_scores", costs.diagonalByScores)
      << remark::metric("cost_diagonal_by_features", costs.diagonalByFeatures)
      << remark::metric("cost_quadratic_per_position", costs.quadraticPerPosition);
}

/// States after blocks are those of a kernel's own blocks: all attends of an entry, which one
/// kernel may compute, have these.
static std::optional<int64_t> blockOfStates(AttentionOp attention) {
  for (auto attend : attention.getBody().getOps<AttendOp>())
    if (attend.getStateEvery())
      return int64_t(*attend.getStateEvery());
  return std::nullopt;
}

namespace {

struct ChooseSchedule : polyattn::impl::ChooseScheduleBase<ChooseSchedule> {
  using ChooseScheduleBase::ChooseScheduleBase;

  ScheduleMachine machine() { return {l1Bytes, tensorCores, shortBlock}; }

  /// The options are a user's.
  static LogicalResult set(AttendOp attend, const Schedule &schedule) {
    ScheduleAttr attribute =
        schedule.toAttribute(attend.getContext(), [&] { return attend.emitError(); });
    if (!attribute)
      return failure();
    attend.setScheduleAttr(attribute);
    explain(attend, schedule);
    return success();
  }

  LogicalResult chooseOne(AttendOp attend) {
    Schedule schedule = scheduleOf(attend, machine());
    auto attention = attend->getParentOfType<AttentionOp>();
    if (std::optional<int64_t> own = attention ? blockOfStates(attention) : std::nullopt)
      schedule.block = *own;
    if (block)
      schedule.block = block;
    if (featureBlock)
      schedule.featureBlock = featureBlock;
    return set(attend, schedule);
  }

  /// One kernel computes the attends of one mask and side: either all of them in blocks by
  /// themselves, or none.
  LogicalResult chooseGroup(ArrayRef<AttendOp> attends) {
    bool isFree = !block && !featureBlock && llvm::none_of(attends, [](AttendOp attend) {
      return bool(attend.getScheduleAttr());
    });
    if (auto schedules = isFree ? chooseChunkwise(attends, machine()) : std::nullopt) {
      for (auto [attend, schedule] : llvm::zip(attends, *schedules))
        if (failed(set(attend, schedule)))
          return failure();
      return success();
    }
    for (AttendOp attend : attends)
      if (!attend.getScheduleAttr() && failed(chooseOne(attend)))
        return failure();
    return success();
  }

  void runOnOperation() override {
    for (auto attention : getOperation().getOps<AttentionOp>()) {
      llvm::MapVector<std::pair<unsigned, unsigned>, SmallVector<AttendOp>> groups;
      for (auto attend : attention.getBody().getOps<AttendOp>())
        groups[{unsigned(attend.getMask()), attend.getOfKeys()}].push_back(attend);
      for (auto &[kind, attends] : groups)
        if (failed(chooseGroup(attends)))
          return signalPassFailure();
    }
  }
};

} // namespace

//===- ChooseSchedule.cpp - decide how each attention is computed ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"

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

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](AttendOp attend) {
      if (attend.getSchedule())
        return WalkResult::advance();
      Schedule schedule =
          scheduleOf(attend, {l1Bytes, tensorCores, shortBlock, isInvariant(getOperation())});
      auto attention = attend->getParentOfType<AttentionOp>();
      if (std::optional<int64_t> own = attention ? blockOfStates(attention) : std::nullopt)
        schedule.block = *own;
      if (block)
        schedule.block = block;
      if (featureBlock)
        schedule.featureBlock = featureBlock;
      // The options are a user's.
      auto attribute = ScheduleAttr::getChecked(
          [&] { return attend.emitError(); }, &getContext(), schedule.form, schedule.diagonal,
          schedule.block, schedule.featureBlock, schedule.quadraticBelow,
          schedule.shortBlocksAttribute(&getContext()), schedule.contracted, schedule.segment,
          schedule.states);
      if (!attribute)
        return WalkResult::interrupt();
      attend.setScheduleAttr(attribute);
      explain(attend, schedule);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

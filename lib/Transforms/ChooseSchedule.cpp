//===- ChooseSchedule.cpp - decide how each attention is computed ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Schedule.h"
#include "polyattn/Transforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_CHOOSESCHEDULE
#include "lib/Transforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

struct ChooseSchedule : polyattn::impl::ChooseScheduleBase<ChooseSchedule> {
  using ChooseScheduleBase::ChooseScheduleBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](AttendOp attend) {
      if (attend.getSchedule())
        return WalkResult::advance();
      Schedule schedule = scheduleOf(attend);
      if (block)
        schedule.block = block;
      if (featureBlock)
        schedule.featureBlock = featureBlock;
      // The options are a user's.
      auto attribute = ScheduleAttr::getChecked([&] { return attend.emitError(); }, &getContext(),
                                                schedule.form, schedule.diagonal, schedule.block,
                                                schedule.featureBlock, schedule.quadraticBelow);
      if (!attribute)
        return WalkResult::interrupt();
      attend.setScheduleAttr(attribute);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

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
    getOperation().walk([&](AttendOp attend) {
      if (attend.getSchedule())
        return;
      Schedule schedule = scheduleOf(attend, l1Bytes);
      if (block > 0)
        schedule.block = block;
      if (featureBlock > 0)
        schedule.featureBlock = featureBlock;
      attend.setScheduleAttr(schedule.toAttribute(&getContext()));
    });
  }
};

} // namespace

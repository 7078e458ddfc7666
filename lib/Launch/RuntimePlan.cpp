//===- RuntimePlan.cpp - plans as the runtime's tables --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Launch/LaunchPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace polyattn;

polyattn_rt_extent polyattn::runtimeExtent(const LaunchExtent &extent) {
  return {extent.base, extent.tensor, extent.dimension, extent.plus, extent.divisor, extent.times};
}

RuntimePlan::RuntimePlan(const LaunchPlan &from, llvm::ArrayRef<polyattn_rt_function> functions) {
  for (const LaunchWorkspace &workspace : from.workspaces) {
    polyattn_rt_workspace_rule rule = {
        dtypeOf(workspace.dtype), workspace.fill, int64_t(workspace.shape.size()), {}};
    llvm::transform(workspace.shape, rule.sizes, runtimeExtent);
    workspaces.push_back(rule);
  }
  for (const LaunchStage &stage : from.stages)
    used.push_back(stage.workspaces);
  for (auto [i, stage] : llvm::enumerate(from.stages)) {
    polyattn_rt_stage_rule rule = {};
    rule.function = functions.empty() ? nullptr : functions[i];
    rule.kind = stage.kind;
    rule.scratch_bytes = stage.scratchBytes;
    rule.cluster = stage.cluster;
    llvm::transform(stage.programs, rule.programs, runtimeExtent);
    rule.num_programs = stage.programs.size();
    rule.workspaces = used[i].data();
    rule.num_workspaces = used[i].size();
    stages.push_back(rule);
  }
  for (const LaunchChoice &choice : from.choices)
    choices.push_back({choice.kind, runtimeExtent(choice.of), choice.block, choice.multiple,
                       choice.minPositions, choice.prefixCostPercent, choice.subsegments,
                       choice.max, choice.bytes});
  plan = {workspaces.data(), int64_t(workspaces.size()), stages.data(), int64_t(stages.size()),
          choices.data(),    int64_t(choices.size())};
}

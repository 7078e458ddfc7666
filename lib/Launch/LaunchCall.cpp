//===- LaunchCall.cpp - a plan and the sizes of a call --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Launch/LaunchCall.h"

using namespace polyattn;

LaunchCall::LaunchCall(const LaunchPlan &plan, std::vector<std::vector<int64_t>> given)
    : plan(plan), runtime(plan), shapes(std::move(given)) {
  for (const std::vector<int64_t> &shape : shapes)
    sizes.push_back(shape.data());
  launch = {sizes.data(), 1, 1, 1};
  launch.parts = polyattn_rt_choose_parts(&runtime.get(), &launch);
}

bool LaunchCall::hasCounts() const {
  for (size_t i = 0; i < plan.stages.size(); ++i)
    if (countPrograms(i) < 0)
      return false;
  return true;
}

int64_t LaunchCall::countPrograms(size_t stage) const {
  return polyattn_rt_count_programs(&runtime.get().stages[stage], &launch);
}

int64_t LaunchCall::valueOf(const LaunchExtent &extent) const {
  polyattn_rt_extent rule = runtimeExtent(extent);
  return polyattn_rt_extent_value(&rule, &launch);
}

std::vector<int64_t> LaunchCall::shapeOf(size_t workspace) const {
  std::vector<int64_t> shape;
  for (const LaunchExtent &extent : plan.workspaces[workspace].shape)
    shape.push_back(valueOf(extent));
  return shape;
}

//===- LaunchCall.h - a plan and the sizes of a call ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LAUNCH_LAUNCHCALL_H
#define POLYATTN_LAUNCH_LAUNCHCALL_H

#include "polyattn/Launch/LaunchPlan.h"

namespace polyattn {

/// What a plan's extents are for tensors of certain sizes. The plan must not change meanwhile.
class LaunchCall {
public:
  LaunchCall(const LaunchPlan &plan, std::vector<std::vector<int64_t>> shapes);
  LaunchCall(const LaunchCall &) = delete;
  LaunchCall &operator=(const LaunchCall &) = delete;

  /// Makes the choices as the runtime does; without this all are 1.
  void choose(const polyattn_rt_workers &workers) {
    polyattn_rt_choose(&runtime.get(), &workers, &launch);
  }
  void setSegments(int64_t segments) { launch.segments = segments; }
  void setSplits(int64_t splits) { launch.splits = splits; }
  int64_t getSegments() const { return launch.segments; }
  int64_t getSplits() const { return launch.splits; }

  /// Whether each stage has a number of programs that 64 bits can hold.
  bool hasCounts() const;
  int64_t countPrograms(size_t stage) const;
  /// The sizes of a workspace.
  std::vector<int64_t> shapeOf(size_t workspace) const;
  int64_t valueOf(const LaunchExtent &extent) const;

private:
  const LaunchPlan &plan;
  RuntimePlan runtime;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<const int64_t *> sizes;
  polyattn_rt_launch launch;
};

} // namespace polyattn

#endif // POLYATTN_LAUNCH_LAUNCHCALL_H

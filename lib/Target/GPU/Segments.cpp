//===- Segments.cpp - into how many segments positions are cut ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of the two launches. Its unit of time is what a block takes the main kernel; a
// multiprocessor runs one CTA at a time. docs/GPU.md has it in words.
//
//===----------------------------------------------------------------------===//

#include "polyattn/Target/Launch.h"
#include <algorithm>

using namespace polyattn;

/// Every program folds in the sums of all segments before it.
static constexpr int64_t kMostSegments = 32;
/// Shorter segments would be all beginning and end.
static constexpr int64_t kFewestBlocks = 8;
/// Estimates: to add one segment's sums to a state in registers, and to launch a second kernel.
static constexpr double kBlocksOfFold = 0.5, kBlocksOfLaunch = 1;
/// Of workspace and hidden tensors in bytes: a caller with a large state would not expect more.
static constexpr double kMostBytes = double(1 << 30);
/// What cutting must win; the model is not better than this.
static constexpr double kWorthwhile = 0.9;

static int64_t divideUp(int64_t number, int64_t by) { return (number + by - 1) / by; }

/// Bytes of global memory that a launch needs beside the caller's tensors.
static double bytesOf(const LaunchDescription &launch, llvm::ArrayRef<LaunchTensor> tensors,
                      int64_t segments) {
  double bytes = double(countCTAs(launch, tensors, segments)) * double(launch.workspaceBytes);
  for (const HiddenTensor &hidden : launch.hidden) {
    double count = sizeof(float);
    for (int64_t size : sizesOf(hidden, tensors, segments))
      count *= double(size);
    bytes += count;
  }
  return bytes;
}

int64_t polyattn::chooseSegments(const LaunchDescription &launch,
                                 llvm::ArrayRef<LaunchTensor> tensors, int64_t multiprocessors) {
  if (!launch.segments)
    return 1;
  const SegmentRule &rule = *launch.segments;
  auto size = [&](SizeReference reference) {
    return tensors[reference.tensor].sizes[reference.dimension];
  };
  int64_t positions = size(rule.positions), ctas = countCTAs(launch, tensors);
  // The kernel of the states has clusters as this one.
  int64_t states = size(launch.programs.front().reference) * size(rule.stateHeads) * launch.cluster;
  if (positions < rule.wholeBelow || ctas <= 0 || multiprocessors <= 0)
    return 1;
  int64_t units = divideUp(positions, rule.unit);
  double blocksOfUnit = double(rule.unit) / double(rule.block);
  auto waves = [&](int64_t count) { return double(divideUp(count, multiprocessors)); };
  auto blocksOf = [&](int64_t segments) {
    return double(divideUp(units, segments)) * blocksOfUnit;
  };
  auto time = [&](int64_t segments) {
    double blocks = blocksOf(segments), sum = waves(ctas * segments) * blocks;
    if (segments == 1)
      return sum;
    return sum + waves(states * (segments - 1)) * blocks * double(rule.statesPercent) / 100 +
           double(segments - 1) * kBlocksOfFold + kBlocksOfLaunch;
  };
  int64_t best = 1;
  double least = kWorthwhile * time(1);
  for (int64_t segments = 2; segments <= std::min(kMostSegments, units); ++segments) {
    // Of two numbers that give the same length the smaller one is meant.
    bool isEmpty = (segments - 1) * divideUp(units, segments) >= units;
    if (isEmpty || blocksOf(segments) < kFewestBlocks ||
        bytesOf(launch, tensors, segments) > kMostBytes)
      continue;
    if (double blocks = time(segments); blocks < least) {
      least = blocks;
      best = segments;
    }
  }
  return best;
}

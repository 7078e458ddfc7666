//===- Warp.h - a warp: registers, control and what it waits for-*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_WARP_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_WARP_H

#include "Execute.h"
#include "Statistics.h"
#include <deque>
#include <memory>

namespace polyattn::gpumodel {

struct CTA;

/// A time, and what comes then.
struct Event {
  Clock at = 0;
  Cause cause = Cause::Other;
};

/// Which lanes are where. Lanes that have parted run in groups, the least address first, until
/// BSYNC joins those that BSSY has named.
class ControlFlow {
public:
  int next() const { return index; }
  Mask lanes() const { return mask; }

  /// Goes on with the next instruction, as another group if that is behind.
  void advance();
  /// Sends some of the lanes elsewhere.
  void branch(int target, Mask taken);
  void jump(int target);
  void setReconvergence(int barrier, Mask lanes);
  void leaveReconvergence(int barrier, Mask lanes);
  /// Whether lanes go on with the next instruction, or others run first.
  bool reconverge(int barrier);
  /// Lanes end. Whether any lane of the warp is left.
  bool exit(Mask lanes);

private:
  struct Group {
    int index;
    Mask mask;
  };
  struct Waiting {
    int barrier, index;
    Mask mask;
  };
  void runLeast();

  int index = 0;
  Mask mask = kAllLanes, live = kAllLanes;
  std::vector<Group> groups;
  std::vector<Waiting> waiting;
  std::array<Mask, 16> barriers{};
};

struct Warp {
  Warp(CTA &cta, const Identity &identity, const Constants &constants)
      : cta(cta), identity(identity), registers(constants) {}

  CTA &cta;
  Identity identity;
  Registers registers;
  ControlFlow control;

  bool hasEnded = false, awaitsCTA = false, awaitsCluster = false;
  /// When the stall count of the last instruction ends; by whom it was set.
  Event ready{0, Cause::Start};
  std::array<Event, 6> scoreboards{};
  /// When the copies of each group arrive, and those of the group that is not committed.
  std::deque<Clock> copyGroups;
  Clock openCopies = 0;
  /// When the line of the next instruction is there.
  Clock fetched = 0;
  int fetchedLine = -1;
  /// From when on time counts as waiting.
  Clock since = 0;
  /// Phases of the cluster's barrier that the warp has arrived at, and waited for.
  int clusterArrivals = 0, clusterWaits = 0;
  Clock clusterReleased = 0;
  /// The barrier instruction that the warp waits at.
  int waitsAt = 0;
};

/// A cooperative thread array and its shared memory.
struct CTA {
  uint32_t id = 0, rank = 0;
  int multiprocessor = 0;
  std::vector<uint8_t> shared;
  std::vector<std::unique_ptr<Warp>> warps;
  uint32_t running = 0, atBarrier = 0;
  /// All CTAs of the cluster, and how many phases of its barrier are over.
  std::vector<CTA *> cluster;
  int clusterPhases = 0;
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_WARP_H

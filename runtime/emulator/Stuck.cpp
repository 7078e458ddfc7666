//===- Stuck.cpp - why a CTA cannot continue ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

using namespace polyattn::emulator;

void Block::reportMeeting(Problem problem, int thread, int otherThread) {
  Finding finding;
  finding.problem = problem;
  finding.program = program;
  finding.thread = thread;
  finding.site = threads[thread].meeting->site;
  finding.otherThread = otherThread;
  // A thread that has ended is nowhere.
  if (otherThread >= 0 && threads[otherThread].state != Thread::Done)
    finding.otherSite = threads[otherThread].meeting->site;
  findings->add(finding);
}

void Block::abandon(Problem problem, uint32_t site) {
  report(problem, running, site, 0, false);
  abandoned = true;
  waitForOthers(); // for ever
}

/// Whether the threads of this warp wait at different places, or some have ended.
bool Block::diagnoseWarp(int warp) {
  int first = warp * kWarpSize;
  int waiting = first;
  while (waiting < first + kWarpSize && threads[waiting].state == Thread::Done)
    ++waiting;
  if (waiting == first + kWarpSize)
    return false;
  for (int other = first; other < first + kWarpSize; ++other) {
    bool ended = threads[other].state == Thread::Done;
    if (!ended && threads[other].meeting->site == threads[waiting].meeting->site)
      continue;
    bool atBarriers = threads[waiting].meeting->op == Meeting::Barrier &&
                      (ended || threads[other].meeting->op == Meeting::Barrier);
    reportMeeting(atBarriers ? Problem::DivergentBarrier : Problem::DivergentCollective, waiting,
                  other);
    return true;
  }
  return false;
}

void Block::diagnoseStuck() {
  bool explained = false;
  for (int warp = 0; warp < int(warps.size()); ++warp)
    explained |= diagnoseWarp(warp);
  if (explained)
    return;
  // Each warp agrees with itself: some wait at a barrier that others will not reach.
  int waiting = 0, ended = -1;
  for (int thread = 0; thread < launch.threads; ++thread) {
    if (threads[thread].state == Thread::Done)
      ended = thread;
    else
      waiting = thread;
  }
  reportMeeting(Problem::Deadlock, waiting, ended);
}

//===- Stuck.cpp - why a CTA cannot continue ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"

using namespace polyattn::emulator;

void Block::reportMeeting(Problem problem, int thread, const Block &other, int otherThread) {
  Finding finding;
  finding.problem = problem;
  finding.program = program;
  finding.rank = rankToReport(rank);
  finding.thread = thread;
  finding.site = threads[thread].meeting->site;
  finding.otherRank = rankToReport(other.rank);
  finding.otherThread = otherThread;
  // A thread that has ended is nowhere.
  if (otherThread >= 0 && other.threads[otherThread].state != Thread::Done)
    finding.otherSite = other.threads[otherThread].meeting->site;
  findings->add(finding);
}

void Block::abandon(Problem problem, uint32_t site) {
  report(problem, running, site, 0, false);
  abandoned = true;
  waitForOthers(); // for ever
}

/// Whether the threads of this warp wait at different ops, or some have ended.
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
    bool atBarriers =
        threads[waiting].meeting->isBarrier() && (ended || threads[other].meeting->isBarrier());
    reportMeeting(atBarriers ? Problem::DivergentBarrier : Problem::DivergentCollective, waiting,
                  *this, other);
    return true;
  }
  return false;
}

bool Block::diagnoseDivergence() {
  bool found = false;
  for (int warp = 0; warp < int(warps.size()); ++warp)
    found |= diagnoseWarp(warp);
  return found;
}

int Block::findWaiting() const {
  for (int thread = launch.threads - 1; thread >= 0; --thread)
    if (threads[thread].state != Thread::Done)
      return thread;
  return -1;
}

int Block::findEnded() const {
  for (int thread = launch.threads - 1; thread >= 0; --thread)
    if (threads[thread].state == Thread::Done)
      return thread;
  return -1;
}

// Each warp agrees with itself: some wait at a barrier that others will not reach.
void Cluster::diagnoseStuck() {
  bool explained = false;
  for (auto &block : blocks)
    explained |= block->diagnoseDivergence();
  if (explained)
    return;
  Block *waiting = nullptr, *ended = nullptr;
  for (auto &block : blocks) {
    if (block->findWaiting() >= 0)
      waiting = block.get();
    if (block->findEnded() >= 0)
      ended = block.get();
  }
  // An own thread that has ended explains more than another CTA's.
  if (!ended || waiting->findEnded() >= 0)
    ended = waiting;
  waiting->reportMeeting(Problem::Deadlock, waiting->findWaiting(), *ended, ended->findEnded());
}

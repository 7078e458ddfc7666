//===- Block.cpp - one CTA: its threads, and where they meet --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Cluster.h"
#include "runtime/generated_code.h"

using namespace polyattn::emulator;

static thread_local Block *currentBlock;

Block &Block::current() { return *currentBlock; }

Block::Block(const Launch &launch, GlobalMemory &globalMemory, Cluster &cluster, int rank)
    : launch(launch), globalMemory(globalMemory), cluster(cluster), rank(rank),
      threads(launch.threads), warps(launch.threads / kWarpSize) {}

POLYATTN_CALLS_GENERATED_CODE
void Block::enterThread(void *argument) {
  auto *block = static_cast<Block *>(argument);
  block->launch.kernel(block->launch.parameters.data());
  block->checkCopiesOfEnded();
  block->threads[block->running].state = Thread::Done;
  ++block->done;
  if (block->hasEnded())
    block->checkReadersOfEnded();
}

void Block::begin(int64_t newProgram, Counters &newCounters, Findings &newFindings) {
  program = newProgram;
  counters = &newCounters;
  findings = &newFindings;
  epoch = 0;
  atBarrier = done = 0;
  abandoned = false;
  interval = Interval();
  clocksOfPhase = 0;
  shared.reset(launch.sharedBytes);
  globalShadow.clear();
  for (Warp &warp : warps)
    warp.waiting = warp.epoch = 0;
  for (Thread &thread : threads) {
    thread.state = Thread::Ready;
    thread.meeting = nullptr;
    thread.openCopies.clear();
    thread.copyGroups.clear();
    thread.accesses = 0;
    thread.fiber.start(&Block::enterThread, this);
  }
}

bool Block::advance() {
  currentBlock = this;
  bool progress = false;
  for (int warp = 0; warp < int(warps.size()); ++warp)
    while (!abandoned && runWarp(warp))
      progress = true;
  return progress;
}

/// Runs every thread of a warp that can run until it waits or ends; false where none can.
bool Block::runWarp(int warp) {
  bool any = false;
  for (int lane = 0; lane < kWarpSize && !abandoned; ++lane) {
    int number = warp * kWarpSize + lane;
    if (threads[number].state != Thread::Ready)
      continue;
    any = true;
    running = number;
    threads[number].fiber.resume();
  }
  return any;
}

Moment Block::now(int thread, uint32_t site) const {
  Moment moment;
  moment.thread = int16_t(thread);
  moment.warp = int8_t(thread / kWarpSize);
  moment.site = site;
  moment.epoch = epoch;
  moment.warpEpoch = warps[thread / kWarpSize].epoch;
  return moment;
}

void Block::waitForOthers() {
  Thread &thread = threads[running];
  thread.state = Thread::Waiting;
  thread.fiber.pause();
}

void Block::meet(Meeting &meeting) {
  Thread &thread = threads[running];
  thread.meeting = &meeting;
  thread.accesses = 0;
  int warp = running / kWarpSize;
  if (meeting.op == Meeting::Barrier) {
    if (++atBarrier == launch.threads)
      completeBarrier();
    else
      waitForOthers();
  } else if (meeting.op == Meeting::ClusterBarrier) {
    if (!cluster.arrive())
      waitForOthers();
  } else {
    if (++warps[warp].waiting == kWarpSize)
      completeMeeting(warp);
    else
      waitForOthers();
  }
}

void Block::completeBarrier() {
  for (int thread = 1; thread < launch.threads; ++thread)
    if (thread % kWarpSize && threads[thread].meeting->site != threads[thread - 1].meeting->site)
      reportMeeting(Problem::DivergentBarrier, thread, *this, thread - 1);
  atBarrier = 0;
  ++epoch;
  ++counters->barriers;
  endInterval();
  for (Thread &thread : threads)
    thread.state = Thread::Ready;
}

void Block::completeMeeting(int warp) {
  warps[warp].waiting = 0;
  warps[warp].accesses.flush(*counters, interval);
  Meeting &first = meetingOf(warp, 0);
  for (int lane = 1; lane < kWarpSize; ++lane)
    if (meetingOf(warp, lane).site != first.site) {
      reportMeeting(Problem::DivergentCollective, warp * kWarpSize + lane, *this, warp * kWarpSize);
      abandoned = true;
      waitForOthers(); // for ever
    }
  execute(warp);
  for (int lane = 0; lane < kWarpSize; ++lane)
    threads[warp * kWarpSize + lane].state = Thread::Ready;
}

void Block::endInterval() {
  for (Warp &warp : warps)
    warp.accesses.flush(*counters, interval);
  clocksOfPhase += interval.end(launch.chip, *counters);
}

//===- Simulator.cpp - runs the CTAs of a multiprocessor or of a cluster --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulator.h"
#include "Failure.h"
#include "Fetch.h"
#include <algorithm>
#include <cmath>

using namespace polyattn::gpumodel;

/// The first-level cache is what shared memory of the resident CTAs leaves.
static uint64_t linesOfL1(const Machine &machine, const Launch &launch, uint32_t resident) {
  double left = machine.l1Bytes - resident * (launch.shared + machine.sharedReservedBytes);
  return static_cast<uint64_t>(std::max(64.0, left / kLineBytes));
}

Simulator::Simulator(const Machine &machine, const WhatIf &whatIf, const Program &program,
                     const Launch &launch)
    : machine(machine), whatIf(whatIf), program(program), launch(launch),
      placement(place(launch, machine)), memory(machine, whatIf, launch, placement, statistics),
      loadStore(machine, whatIf, launch, memory, statistics) {
  statistics.ofInstruction.resize(program.instructions.size());
  uint64_t lines = linesOfL1(machine, launch, placement.resident);
  for (uint32_t rank = 0; rank < launch.cluster; ++rank)
    multiprocessors.push_back(std::make_unique<Multiprocessor>(machine, lines));
  waitingPrograms.assign(placement.programs.begin(), placement.programs.end());
}

void Simulator::startCTA(CTA &cta, Clock at) {
  cta.shared.assign(launch.shared, 0);
  cta.running = launch.warps;
  for (uint32_t k = 0; k < launch.warps; ++k) {
    Identity identity{cta.id,
                      cta.rank,
                      k,
                      launch.cluster,
                      launch.programs * launch.cluster,
                      launch.warps * kLanes};
    cta.warps.push_back(std::make_unique<Warp>(cta, identity, launch.constants));
    Warp &warp = *cta.warps.back();
    warp.ready = {at + machine.ctaStartLatency, Cause::Start};
    warp.since = at;
    subCoreOf(warp).warps.push_back(&warp);
    subCoreOf(warp).changed = true;
    fetchNext(warp, at);
  }
}

void Simulator::start(uint32_t number, Clock at) {
  Cluster cluster;
  std::vector<CTA *> members;
  for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
    cluster.push_back(std::make_unique<CTA>());
    CTA &cta = *cluster.back();
    cta.id = number * launch.cluster + rank;
    cta.rank = rank;
    cta.multiprocessor = static_cast<int>(rank);
    members.push_back(&cta);
  }
  for (const auto &cta : cluster) {
    cta->cluster = members;
    startCTA(*cta, at);
  }
  running.push_back(std::move(cluster));
}

/// Clusters that have ended make room for the next ones.
void Simulator::retire(Clock at) {
  for (size_t k = 0; k < running.size();) {
    Cluster &cluster = running[k];
    if (std::any_of(cluster.begin(), cluster.end(),
                    [](const auto &cta) { return cta->running > 0; })) {
      ++k;
      continue;
    }
    for (const auto &cta : cluster)
      for (const auto &subCore : multiprocessors[cta->multiprocessor]->subCores) {
        std::vector<Warp *> &warps = subCore->warps;
        warps.erase(std::remove_if(warps.begin(), warps.end(),
                                   [&](Warp *warp) { return &warp->cta == cta.get(); }),
                    warps.end());
        subCore->lastWarp = nullptr;
        subCore->changed = true;
      }
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(k));
    if (waitingPrograms.empty())
      continue;
    start(waitingPrograms.front(), at + machine.ctaLaunchGap);
    waitingPrograms.pop_front();
  }
}

void Simulator::issueFrom(SubCore &subCore, Clock now) {
  Event event;
  Warp *warp = choose(subCore, now, event);
  if (!warp)
    return;
  // From when it was ready on, the warp waited for others.
  if (event.at > warp->since && event.at < now) {
    statistics.wait(warp->control.next(), event.cause, event.at - warp->since);
    warp->since = event.at;
    event.cause = Cause::NotSelected;
  } else if (event.at <= warp->since && now > warp->since) {
    event.cause = Cause::NotSelected;
  }
  if (!instructionOf(*warp).isFree)
    subCore.lastIssue = now;
  subCore.lastWarp = warp;
  const Instruction &instruction = instructionOf(*warp);
  try {
    issue(*warp, now, event.cause);
  } catch (const std::out_of_range &) {
    throw Failure("instruction " + instruction.text + " has other operands than the model knows");
  }
}

void Simulator::failStuck() const {
  for (const Cluster &cluster : running)
    for (const auto &cta : cluster)
      for (const auto &warp : cta->warps)
        if (!warp->hasEnded)
          throw Failure("no warp can go on: warp " + std::to_string(warp->identity.warp) +
                        " of CTA " + std::to_string(cta->id) + " waits at " +
                        program.instructions[warp->waitsAt].text);
  throw Failure("no warp can go on");
}

const Statistics &Simulator::run() {
  for (uint32_t k = 0; k < placement.resident && !waitingPrograms.empty(); ++k) {
    start(waitingPrograms.front(), 0);
    waitingPrograms.pop_front();
  }
  while (!running.empty()) {
    Clock first = kNever;
    for (const auto &multiprocessor : multiprocessors)
      for (const auto &subCore : multiprocessor->subCores) {
        if (subCore->changed) {
          subCore->next = earliestOf(*subCore, statistics.clocks);
          subCore->changed = false;
        }
        first = std::min(first, subCore->next);
      }
    if (first >= kNever)
      failStuck();
    statistics.clocks = std::ceil(first - 1e-9);
    for (const auto &multiprocessor : multiprocessors)
      for (const auto &subCore : multiprocessor->subCores)
        if (subCore->changed || subCore->next <= statistics.clocks + 1e-6)
          issueFrom(*subCore, statistics.clocks);
    retire(statistics.clocks);
  }
  return statistics;
}

//===- Placement.cpp - where the CTAs of a launch run ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Launch.h"
#include <algorithm>
#include <cmath>

using namespace polyattn::gpumodel;

static uint32_t divideUp(uint32_t number, uint32_t by) { return number / by + (number % by != 0); }

uint32_t polyattn::gpumodel::residentCTAs(const Launch &launch, const Machine &machine) {
  double registers = std::ceil(launch.registers / machine.registerUnit) * machine.registerUnit *
                     kLanes * launch.warps;
  double limits[] = {registers > 0 ? machine.registers / registers : machine.maxCtas,
                     machine.sharedBytes / (launch.shared + machine.sharedReservedBytes),
                     machine.maxWarps / launch.warps, machine.maxCtas};
  double most = std::floor(*std::min_element(std::begin(limits), std::end(limits)));
  if (most < 1)
    throw Failure("a CTA does not fit a multiprocessor: " + std::to_string(launch.warps) +
                  " warps of " + std::to_string(launch.registers) + " registers and " +
                  std::to_string(launch.shared) + " bytes of shared memory");
  return static_cast<uint32_t>(most);
}

Placement polyattn::gpumodel::place(const Launch &launch, const Machine &machine) {
  Placement placement;
  // A cluster takes as many multiprocessors as it has CTAs.
  auto places = static_cast<uint32_t>(
      launch.cluster == 2 ? machine.clustersOfTwo : machine.multiprocessors / launch.cluster);
  if (places == 0)
    throw Failure("a cluster of " + std::to_string(launch.cluster) + " CTAs does not fit the chip");
  uint32_t each = divideUp(launch.programs, places);
  placement.resident =
      std::min(launch.resident ? launch.resident : residentCTAs(launch, machine), each);
  uint32_t used = std::min(launch.programs, places);
  placement.active = used * launch.cluster;
  uint32_t first = launch.multiprocessor >= 0 ? static_cast<uint32_t>(launch.multiprocessor)
                                              : (launch.programs - 1) % places;
  for (uint32_t program = first; program < launch.programs; program += places)
    placement.programs.push_back(program);
  if (placement.programs.empty())
    throw Failure("multiprocessor " + std::to_string(first) + " has no CTA");
  double together = std::min(launch.programs, places * placement.resident);
  placement.shareOfL2 = std::min<double>(placement.programs.size(), placement.resident) / together;
  double active = placement.active;
  placement.fromL2 = std::min(machine.smBytesPerClock, machine.l2BytesPerClock / active);
  placement.toL2 = std::min(machine.smStoreBytesPerClock, machine.l2BytesPerClock / active);
  placement.memory = std::min(machine.smBytesPerClock, machine.memoryTerabytesPerSecond * 1e12 /
                                                           machine.clockRate() / active);
  return placement;
}

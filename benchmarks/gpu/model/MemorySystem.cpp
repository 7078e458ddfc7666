//===- MemorySystem.cpp - latency and bandwidth of caches and device memory===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemorySystem.h"
#include <algorithm>

using namespace polyattn::gpumodel;

/// So far behind, a prefetched tensor still waits for bandwidth.
static constexpr Clock kAheadFromL2 = 64, kAheadFromMemory = 4000;

static uint64_t lineOf(uint64_t sector) { return sector / (kLineBytes / kSectorBytes); }
static int sectorInLine(uint64_t sector) {
  return static_cast<int>(sector % (kLineBytes / kSectorBytes));
}

// What goes round in a cache that it does not fit would never hit, if the oldest line were
// replaced; a card hits some of it.
MemorySystem::MemorySystem(const Machine &machine, const WhatIf &whatIf, const Launch &launch,
                           const Placement &placement, Statistics &statistics)
    : machine(machine), whatIf(whatIf), launch(launch), placement(placement),
      statistics(statistics),
      l2(std::max<uint64_t>(
             1024, static_cast<uint64_t>(machine.l2Bytes * placement.shareOfL2 / kLineBytes)),
         Cache::Replacement::Random) {}

Place MemorySystem::placeOf(uint64_t sector) const {
  const Tensor *tensor = launch.find(sector * kSectorBytes);
  // A tensor may begin inside of its first sector.
  if (!tensor)
    tensor = launch.find(sector * kSectorBytes + kSectorBytes - 1);
  return tensor ? tensor->place : Place::DeviceMemory;
}

/// A line that was written to goes to device memory when another one takes its place.
Cache::Line &MemorySystem::insertIntoL2(Multiprocessor &multiprocessor, uint64_t sector, Clock at) {
  uint64_t before = l2.replacedDirty();
  Cache::Line &line = l2.insert(lineOf(sector));
  if (uint64_t replaced = l2.replacedDirty() - before) {
    multiprocessor.memoryFree = std::max(multiprocessor.memoryFree, at) +
                                static_cast<double>(replaced * kLineBytes) / placement.memory;
    statistics.bytesToMemory += replaced * kLineBytes;
  }
  return line;
}

Event MemorySystem::readThroughL2(Multiprocessor &multiprocessor, uint64_t sector, Place place,
                                  Clock start) {
  int part = sectorInLine(sector);
  Cache::Line *line = l2.find(lineOf(sector));
  bool isThere = line && line->has(part);
  if (isThere || place == Place::L2) {
    Event arrival{start + machine.l2Latency, Cause::L2};
    // On its way from device memory for an earlier load.
    if (isThere && line->ready[part] > start)
      arrival = {std::max(arrival.at, line->ready[part] + machine.l2Latency / 2),
                 Cause::DeviceMemory};
    return arrival;
  }
  Clock begin = std::max(start, multiprocessor.memoryFree);
  multiprocessor.memoryFree = begin + kSectorBytes / placement.memory;
  statistics.bytesFromMemory += kSectorBytes;
  Event arrival{begin + machine.memoryLatency, Cause::DeviceMemory};
  insertIntoL2(multiprocessor, sector, begin).fill(part, arrival.at - machine.l2Latency / 2);
  return arrival;
}

Event MemorySystem::read(Multiprocessor &multiprocessor, uint64_t sector, Clock at,
                         bool throughL1) {
  int part = sectorInLine(sector);
  Event hit{at + machine.l1Latency, Cause::L1};
  if (throughL1)
    if (Cache::Line *line = multiprocessor.l1.find(lineOf(sector)); line && line->has(part)) {
      ++statistics.l1Hits;
      return line->ready[part] > hit.at ? Event{line->ready[part], Cause::L2} : hit;
    }
  Place place = placeOf(sector);
  if ((whatIf.stateOnChip && place == Place::Workspace) ||
      (whatIf.weightsOnChip && place == Place::L2))
    return hit;
  Clock start = std::max(at, multiprocessor.fromL2Free);
  multiprocessor.fromL2Free = start + kSectorBytes / placement.fromL2;
  statistics.bytesFromL2 += kSectorBytes;
  Event arrival = readThroughL2(multiprocessor, sector, place, start);
  if (whatIf.copiesAhead && place != Place::Workspace && start - at < kAheadFromL2 &&
      multiprocessor.memoryFree - at < kAheadFromMemory)
    return hit;
  if (throughL1)
    multiprocessor.l1.insert(lineOf(sector)).fill(part, arrival.at);
  return arrival;
}

Clock MemorySystem::write(Multiprocessor &multiprocessor, uint64_t sector, Clock at) {
  if (Cache::Line *line = multiprocessor.l1.find(lineOf(sector)))
    line->sectors &= ~(1 << sectorInLine(sector));
  if (whatIf.stateOnChip && placeOf(sector) == Place::Workspace)
    return at;
  Clock start = std::max(at, multiprocessor.toL2Free);
  multiprocessor.toL2Free = start + kSectorBytes / placement.toL2;
  statistics.bytesStored += kSectorBytes;
  Cache::Line &line = insertIntoL2(multiprocessor, sector, start);
  line.fill(sectorInLine(sector), 0);
  line.dirty = true;
  return start;
}

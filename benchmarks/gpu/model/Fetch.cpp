//===- Fetch.cpp - instruction fetch --------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fetch.h"
#include <algorithm>

using namespace polyattn::gpumodel;

/// When the multiprocessor's cache has the line, which it may have to read from the L2.
static Clock arrivalInL1(uint64_t line, Clock at, Multiprocessor &multiprocessor,
                         const Machine &machine, Statistics &statistics) {
  if (Cache::Line *found = multiprocessor.instructionCache.find(line))
    return std::max(at + machine.l1InstructionLatency, found->ready[0]);
  Clock start = std::max(at, multiprocessor.instructionsFree);
  multiprocessor.instructionsFree = start + machine.instructionMissInterval;
  ++statistics.instructionMisses;
  Clock arrival = start + machine.instructionMissLatency;
  multiprocessor.instructionCache.insert(line).ready[0] = arrival;
  return arrival;
}

void polyattn::gpumodel::fetch(Warp &warp, uint32_t address, Clock at,
                               Multiprocessor &multiprocessor, const Machine &machine,
                               Statistics &statistics) {
  int line = static_cast<int>(address / kLineBytes);
  if (line == warp.fetchedLine)
    return;
  warp.fetchedLine = line;
  Cache &own = multiprocessor.subCoreOf(warp).instructionCache;
  int ahead = static_cast<int>(machine.fetchAheadLines);
  for (int next = line; next <= line + ahead; ++next) {
    Cache::Line *found = own.find(next);
    if (!found) {
      Clock arrival = arrivalInL1(next, at, multiprocessor, machine, statistics);
      found = &own.insert(next);
      found->ready[0] = arrival;
    }
    if (next == line)
      warp.fetched = std::max(at, found->ready[0]);
  }
}

//===- Accesses.cpp - what a thread reads and writes ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include <cstring>

using namespace polyattn::emulator;

Finding Block::findingAt(Problem problem, int thread, uint32_t site, uint64_t address,
                         bool isGlobal) const {
  Finding finding;
  finding.problem = problem;
  finding.site = site;
  finding.program = program;
  finding.rank = rankToReport(rank);
  finding.thread = thread;
  finding.address = address;
  finding.isGlobal = isGlobal;
  return finding;
}

void Block::report(Problem problem, int thread, uint32_t site, uint64_t address, bool isGlobal) {
  findings->add(findingAt(problem, thread, site, address, isGlobal));
}

void Block::report(const Conflict &conflict, int thread, uint32_t site, uint64_t address,
                   bool isGlobal) {
  if (conflict.problem == Problem::None)
    return;
  Finding finding = findingAt(conflict.problem, thread, site, address, isGlobal);
  if (conflict.other.thread != Moment::kNobody) {
    finding.otherSite = conflict.other.site;
    finding.otherThread = conflict.other.thread;
    finding.otherRank = rankToReport(conflict.otherRank < 0 ? rank : conflict.otherRank);
  }
  findings->add(finding);
}

void Block::countAccess(uint32_t site, AccessGroups::Kind kind, uint64_t address, uint32_t bytes) {
  warps[running / kWarpSize].accesses.record(running % kWarpSize, site, kind, address, bytes);
  if (++threads[running].accesses > launch.accessLimit)
    abandon(Problem::Deadlock, site);
}

Problem Block::problemOf(uint32_t address, uint32_t bytes) const {
  if (!shared.contains(address, bytes))
    return Problem::OutOfBounds;
  return address % bytes != 0 ? Problem::Misaligned : Problem::None;
}

bool Block::checkShared(int thread, uint32_t site, uint32_t address, uint32_t bytes) {
  Problem problem = problemOf(address, bytes);
  if (problem == Problem::None)
    return true;
  report(problem, thread, site, address, false);
  return false;
}

void Block::loadShared(uint32_t site, uint32_t address, uint32_t bytes, void *result) {
  std::memset(result, 0xff, bytes);
  if (!checkShared(running, site, address, bytes))
    return;
  countAccess(site, AccessGroups::Shared, address, bytes);
  report(shared.read(now(running, site), address, bytes, result), running, site, address, false);
}

void Block::storeShared(uint32_t site, uint32_t address, uint32_t bytes, const void *value) {
  if (!checkShared(running, site, address, bytes))
    return;
  countAccess(site, AccessGroups::Shared, address, bytes);
  report(shared.write(now(running, site), address, bytes, value), running, site, address, false);
}

GlobalMemory::Range *Block::checkGlobal(uint32_t site, uint64_t address, uint32_t bytes) {
  GlobalMemory::Range *range = globalMemory.find(address, bytes);
  if (!range)
    report(Problem::OutOfBounds, running, site, address, true);
  return range;
}

void Block::checkGlobalRead(uint32_t site, uint64_t address, uint32_t bytes,
                            const GlobalMemory::Range &range, bool readOnly) {
  if (range.getRole() == MemoryRange::Input)
    return;
  Conflict conflict;
  Moment moment = now(running, site);
  // What another program has written is there or not, as it happens.
  bool isInitialised = range.getRole() == MemoryRange::Update &&
                       !range.hasOtherWriter(numberInGrid(), address, bytes);
  ShadowCell *cells = globalShadow.at(address);
  for (uint32_t i = 0; i < (bytes + kCellBytes - 1) / kCellBytes; ++i) {
    cells[i].read(moment, conflict, isInitialised);
    if (readOnly && cells[i].isWritten())
      conflict.note(Problem::ReadOnlyOfWritten, Moment());
  }
  report(conflict, running, site, address, true);
}

void Block::loadGlobal(uint32_t site, uint64_t address, uint32_t bytes, bool readOnly,
                       void *result) {
  std::memset(result, 0xff, bytes);
  if (address % bytes != 0)
    return report(Problem::Misaligned, running, site, address, true);
  GlobalMemory::Range *range = checkGlobal(site, address, bytes);
  if (!range)
    return;
  countAccess(site, AccessGroups::GlobalRead, address, bytes);
  checkGlobalRead(site, address, bytes, *range, readOnly);
  std::memcpy(result, reinterpret_cast<const void *>(address), bytes);
}

void Block::storeGlobal(uint32_t site, uint64_t address, uint32_t bytes, const void *value) {
  if (address % bytes != 0)
    return report(Problem::Misaligned, running, site, address, true);
  GlobalMemory::Range *range = checkGlobal(site, address, bytes);
  if (!range)
    return;
  if (range->getRole() == MemoryRange::Input)
    return report(Problem::WriteToInput, running, site, address, true);
  countAccess(site, AccessGroups::GlobalWrite, address, bytes);
  Conflict conflict;
  Moment moment = now(running, site);
  ShadowCell *cells = globalShadow.at(address);
  for (uint32_t i = 0; i < bytes / kCellBytes; ++i)
    cells[i].write(moment, conflict);
  report(conflict, running, site, address, true);
  int64_t other = range->noteWriter(numberInGrid(), address, bytes);
  if (other >= 0) {
    Finding finding = findingAt(Problem::TwoProgramsWrite, running, site, address, true);
    finding.otherProgram = other / launch.cluster;
    finding.otherRank = rankToReport(int(other % launch.cluster));
    findings->add(finding);
  }
  std::memcpy(reinterpret_cast<void *>(address), value, bytes);
}

void Block::copyAsync(uint32_t site, uint64_t source, uint32_t address, uint32_t bytes,
                      uint32_t size) {
  if (source % size != 0)
    return report(Problem::Misaligned, running, site, source, true);
  if (!checkShared(running, site, address, size))
    return;
  PendingCopy copy = {site, address, size, {}};
  if (bytes > 0) {
    GlobalMemory::Range *range = bytes <= size ? checkGlobal(site, source, bytes) : nullptr;
    if (!range)
      return report(Problem::OutOfBounds, running, site, source, true);
    countAccess(site, AccessGroups::GlobalRead, source, bytes);
    checkGlobalRead(site, source, bytes, *range, false);
    std::memcpy(copy.bytes, reinterpret_cast<const void *>(source), bytes);
  }
  countAccess(site, AccessGroups::Shared, address, size);
  report(shared.beginCopy(now(running, site), address, size), running, site, address, false);
  threads[running].openCopies.push_back(copy);
}

void Block::commitCopies() {
  Thread &thread = threads[running];
  thread.copyGroups.push_back(std::move(thread.openCopies));
  thread.openCopies.clear();
}

void Block::waitCopies(uint32_t pending) {
  Thread &thread = threads[running];
  while (thread.copyGroups.size() > pending) {
    for (const PendingCopy &copy : thread.copyGroups.front())
      shared.endCopy(now(running, copy.site), copy.address, copy.size, copy.bytes);
    thread.copyGroups.pop_front();
  }
}

void Block::checkCopiesOfEnded() {
  Thread &thread = threads[running];
  thread.copyGroups.push_back(std::move(thread.openCopies));
  for (const std::vector<PendingCopy> &group : thread.copyGroups)
    for (const PendingCopy &copy : group)
      report(Problem::CopyNotWaitedFor, running, copy.site, copy.address, false);
}

uint32_t Block::checkIndex(uint32_t site, uint32_t index, uint32_t count) {
  if (index < count)
    return index;
  report(Problem::BeyondTable, running, site, index, false);
  return 0;
}

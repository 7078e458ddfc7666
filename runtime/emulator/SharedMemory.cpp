//===- SharedMemory.cpp - the shared memory of one CTA --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include <algorithm>
#include <cstring>

using namespace polyattn::emulator;

static constexpr uint8_t kPoison = 0xff;

void SharedMemory::reset(uint32_t count) {
  bytes.assign(count, kPoison);
  cells.assign((count + kCellBytes - 1) / kCellBytes, ShadowCell());
  phase = phaseEpoch = 0;
  remoteReads.clear();
  lastRemoteRead = RemoteRead();
}

Conflict SharedMemory::read(const Moment &now, uint32_t address, uint32_t count, void *result) {
  std::memcpy(result, &bytes[address], count);
  Conflict conflict;
  visit(address, count, [&](ShadowCell &cell) { cell.read(now, conflict); });
  return conflict;
}

Conflict SharedMemory::write(const Moment &now, uint32_t address, uint32_t count,
                             const void *value) {
  std::memcpy(&bytes[address], value, count);
  Conflict conflict;
  visit(address, count, [&](ShadowCell &cell) { cell.write(now, conflict); });
  if (!remoteReads.empty())
    checkRemoteReads(address, count, conflict);
  return conflict;
}

Conflict SharedMemory::beginCopy(const Moment &now, uint32_t address, uint32_t count) {
  std::memset(&bytes[address], kPoison, count);
  Conflict conflict;
  visit(address, count, [&](ShadowCell &cell) { cell.beginCopy(now, conflict); });
  if (!remoteReads.empty())
    checkRemoteReads(address, count, conflict);
  return conflict;
}

void SharedMemory::endCopy(const Moment &now, uint32_t address, uint32_t count, const void *value) {
  std::memcpy(&bytes[address], value, count);
  visit(address, count, [&](ShadowCell &cell) { cell.endCopy(now); });
}

void SharedMemory::beginPhase(uint32_t epoch) {
  ++phase;
  phaseEpoch = epoch;
}

Conflict SharedMemory::readRemotely(const RemoteRead &now, uint32_t address, uint32_t count,
                                    void *result) {
  std::memcpy(result, &bytes[address], count);
  Conflict conflict;
  visit(address, count, [&](const ShadowCell &cell) { cell.readRemotely(phaseEpoch, conflict); });
  remoteReads.resize(cells.size());
  std::fill_n(remoteReads.begin() + address / kCellBytes, count / kCellBytes, now);
  lastRemoteRead = now;
  lastRemoteAddress = address;
  return conflict;
}

/// No cluster barrier lies between a read and a write of one phase.
void SharedMemory::checkRemoteReads(uint32_t address, uint32_t count, Conflict &conflict) const {
  for (uint32_t cell = address / kCellBytes; cell < (address + count) / kCellBytes; ++cell) {
    const RemoteRead &read = remoteReads[cell];
    if (read.rank < 0 || read.phase != phase)
      continue;
    Moment other;
    other.thread = read.thread;
    other.site = read.site;
    conflict.note(Problem::WriteAfterReadRace, other, read.rank);
  }
}

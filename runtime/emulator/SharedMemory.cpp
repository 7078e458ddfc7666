//===- SharedMemory.cpp - the shared memory of one CTA --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include <cstring>

using namespace polyattn::emulator;

static constexpr uint8_t kPoison = 0xff;

void SharedMemory::reset(uint32_t count) {
  bytes.assign(count, kPoison);
  cells.assign((count + kCellBytes - 1) / kCellBytes, ShadowCell());
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
  return conflict;
}

Conflict SharedMemory::beginCopy(const Moment &now, uint32_t address, uint32_t count) {
  std::memset(&bytes[address], kPoison, count);
  Conflict conflict;
  visit(address, count, [&](ShadowCell &cell) { cell.beginCopy(now, conflict); });
  return conflict;
}

void SharedMemory::endCopy(const Moment &now, uint32_t address, uint32_t count, const void *value) {
  std::memcpy(&bytes[address], value, count);
  visit(address, count, [&](ShadowCell &cell) { cell.endCopy(now); });
}

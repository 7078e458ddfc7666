//===- SharedMemory.h - the shared memory of one CTA ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H
#define POLYATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H

#include "Shadow.h"

namespace polyattn::emulator {

/// A read by another CTA of the cluster: by whom, and after how many cluster barriers.
struct RemoteRead {
  uint32_t phase = 0;
  uint32_t site = 0;
  int16_t rank = -1, thread = -1;
};

/// Bytes and their shadow. Accesses are in bounds and aligned to two bytes. All bits of what has
/// not been written, or what a copy is on its way to, are set: a NaN in every format.
class SharedMemory {
public:
  void reset(uint32_t bytes);
  bool contains(uint64_t address, uint32_t count) const { return address + count <= bytes.size(); }

  Conflict read(const Moment &now, uint32_t address, uint32_t count, void *result);
  Conflict write(const Moment &now, uint32_t address, uint32_t count, const void *value);
  Conflict beginCopy(const Moment &now, uint32_t address, uint32_t count);
  void endCopy(const Moment &now, uint32_t address, uint32_t count, const void *value);

  /// A cluster barrier: of this CTA, it is the barrier of number `epoch`.
  void beginPhase(uint32_t epoch);
  uint32_t getPhase() const { return phase; }
  Conflict readRemotely(const RemoteRead &now, uint32_t address, uint32_t count, void *result);
  /// The last of other CTAs' reads, of its address.
  const RemoteRead &getLastRemoteRead() const { return lastRemoteRead; }
  uint32_t getLastRemoteAddress() const { return lastRemoteAddress; }

private:
  void checkRemoteReads(uint32_t address, uint32_t count, Conflict &conflict) const;

  template <typename Step> void visit(uint32_t address, uint32_t count, Step step) {
    for (uint32_t cell = address / kCellBytes; cell < (address + count) / kCellBytes; ++cell)
      step(cells[cell]);
  }

  std::vector<uint8_t> bytes;
  std::vector<ShadowCell> cells;

  // Cluster barriers, and where the current phase began.
  uint32_t phase = 0, phaseEpoch = 0;
  /// The last of each cell; empty until another CTA reads.
  std::vector<RemoteRead> remoteReads;
  RemoteRead lastRemoteRead;
  uint32_t lastRemoteAddress = 0;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H

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

private:
  template <typename Step> void visit(uint32_t address, uint32_t count, Step step) {
    for (uint32_t cell = address / kCellBytes; cell < (address + count) / kCellBytes; ++cell)
      step(cells[cell]);
  }

  std::vector<uint8_t> bytes;
  std::vector<ShadowCell> cells;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_SHAREDMEMORY_H

//===- GlobalMemory.cpp - what a launch may access, and who writes it -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalMemory.h"
#include <algorithm>

using namespace polyattn::emulator;

GlobalMemory::GlobalMemory(const std::vector<MemoryRange> &all) {
  for (const MemoryRange &range : all)
    if (range.role != MemoryRange::Input)
      ranges.emplace_back(range);
  for (const MemoryRange &range : all)
    if (range.role == MemoryRange::Input)
      ranges.emplace_back(range);
}

GlobalMemory::Range::Range(const MemoryRange &range)
    : role(range.role), address(range.address), extent(range.elementBytes),
      run(range.elementBytes) {
  for (const MemoryRange::Dimension &dimension : range.dimensions) {
    extent += (dimension.size - 1) * dimension.strideBytes;
    if (dimension.size > 1 && dimension.strideBytes > 0)
      outer.push_back(dimension);
  }
  std::sort(outer.begin(), outer.end(),
            [](auto &a, auto &b) { return a.strideBytes > b.strideBytes; });
  while (!outer.empty() && outer.back().strideBytes <= run) {
    run += (outer.back().size - 1) * outer.back().strideBytes;
    outer.pop_back();
  }
  if (role != MemoryRange::Input)
    writers = std::make_unique<std::atomic<uint32_t>[]>((extent + 1) / 2);
}

bool GlobalMemory::Range::contains(uint64_t first, uint64_t bytes) const {
  if (first < address || first + bytes > address + extent)
    return false;
  uint64_t offset = first - address;
  for (const MemoryRange::Dimension &dimension : outer) {
    // Dimensions that overlap have no gaps: then the last of the outer one's rows is entered.
    uint64_t index = std::min(offset / dimension.strideBytes, dimension.size - 1);
    offset -= index * dimension.strideBytes;
  }
  return offset + bytes <= run;
}

int64_t GlobalMemory::Range::noteWriter(int64_t program, uint64_t first, uint64_t bytes) {
  uint32_t self = static_cast<uint32_t>(program) + 1;
  int64_t other = -1;
  for (uint64_t i = (first - address) / 2; i < (first - address + bytes + 1) / 2; ++i) {
    uint32_t before = writers[i].exchange(self, std::memory_order_relaxed);
    if (before != 0 && before != self)
      other = int64_t(before) - 1;
  }
  return other;
}

bool GlobalMemory::Range::hasOtherWriter(int64_t program, uint64_t first, uint64_t bytes) const {
  uint32_t self = static_cast<uint32_t>(program) + 1;
  for (uint64_t i = (first - address) / 2; i < (first - address + bytes + 1) / 2; ++i) {
    uint32_t writer = writers[i].load(std::memory_order_relaxed);
    if (writer != 0 && writer != self)
      return true;
  }
  return false;
}

GlobalMemory::Range *GlobalMemory::find(uint64_t address, uint64_t bytes) {
  for (Range &range : ranges)
    if (range.contains(address, bytes))
      return &range;
  return nullptr;
}

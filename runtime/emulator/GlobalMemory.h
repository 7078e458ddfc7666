//===- GlobalMemory.h - what a launch may access, and who writes it *- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_GLOBALMEMORY_H
#define POLYATTN_RUNTIME_EMULATOR_GLOBALMEMORY_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace polyattn::emulator {

/// A tensor or a workspace in global memory; every dimension has at least one element.
struct MemoryRange {
  /// An update has numbers before the launch as an input has, and may be written as an output may.
  enum Role { Input, Update, Output, Workspace };
  struct Dimension {
    uint64_t size, strideBytes;
  };
  Role role = Input;
  uint64_t address = 0;
  uint64_t elementBytes = 1;
  std::vector<Dimension> dimensions;
};

/// All memory of a launch, for all of its CTAs.
class GlobalMemory {
public:
  explicit GlobalMemory(const std::vector<MemoryRange> &ranges);

  class Range {
  public:
    explicit Range(const MemoryRange &range);
    MemoryRange::Role getRole() const { return role; }
    /// Whether these bytes are elements, with nothing of the gaps between rows.
    bool contains(uint64_t first, uint64_t bytes) const;
    /// Notes that a program writes these bytes, which the range contains: another one that
    /// does, or -1.
    int64_t noteWriter(int64_t program, uint64_t first, uint64_t bytes);
    /// Whether another program has written any of these bytes, which the range contains.
    bool hasOtherWriter(int64_t program, uint64_t first, uint64_t bytes) const;

  private:
    MemoryRange::Role role;
    uint64_t address, extent;
    /// Decreasing strides; `run` bytes without a gap are innermost.
    std::vector<MemoryRange::Dimension> outer;
    uint64_t run;
    /// For each two bytes the program that has written them, plus one.
    std::unique_ptr<std::atomic<uint32_t>[]> writers;
  };

  /// The range that contains these bytes, or null. Of several, one that may be written.
  Range *find(uint64_t address, uint64_t bytes);

private:
  std::vector<Range> ranges;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_GLOBALMEMORY_H

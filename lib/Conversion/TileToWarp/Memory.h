//===- Memory.h - places in shared memory or the workspace ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORY_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORY_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace polyattn::tile_to_warp {

/// Gives out byte ranges, the lowest free place first, and remembers how far they reached.
class Memory {
public:
  explicit Memory(int64_t capacity) : capacity(capacity) {}

  /// Nothing where it is full.
  std::optional<int64_t> allocate(int64_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    int64_t offset = 0;
    for (auto [start, size] : live) {
      if (start - offset >= bytes)
        break;
      offset = start + size;
    }
    if (offset + bytes > capacity)
      return std::nullopt;
    live[offset] = bytes;
    top = std::max(top, offset + bytes);
    return offset;
  }
  void free(int64_t offset) { live.erase(offset); }
  int64_t bytes() const { return top; }

private:
  static constexpr int64_t kAlignment = 128;
  int64_t capacity, top = 0;
  std::map<int64_t, int64_t> live;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_MEMORY_H

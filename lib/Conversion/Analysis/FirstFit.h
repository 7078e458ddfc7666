//===- FirstFit.h - places in a memory of a kernel --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_ANALYSIS_FIRSTFIT_H
#define POLYATTN_LIB_CONVERSION_ANALYSIS_FIRSTFIT_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace polyattn {

/// Gives out byte ranges, the lowest free place first, and remembers how far they reached.
class FirstFit {
public:
  /// Places are multiples of `alignment`.
  explicit FirstFit(int64_t alignment, int64_t capacity = INT64_MAX)
      : alignment(alignment), capacity(capacity) {}

  /// Nothing where it is full.
  std::optional<int64_t> allocate(int64_t bytes) {
    bytes = rounded(bytes);
    int64_t offset = 0;
    for (auto [start, size] : live) {
      if (start - offset >= bytes)
        break;
      offset = start + size;
    }
    return take(offset, bytes);
  }
  /// A place that nothing has had before, for what must outlive a call.
  std::optional<int64_t> allocateFresh(int64_t bytes) { return take(top, rounded(bytes)); }
  void free(int64_t offset) { live.erase(offset); }
  int64_t bytes() const { return top; }

private:
  int64_t rounded(int64_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
  std::optional<int64_t> take(int64_t offset, int64_t bytes) {
    if (bytes > capacity - offset)
      return std::nullopt;
    live[offset] = bytes;
    top = std::max(top, offset + bytes);
    return offset;
  }

  int64_t alignment, capacity, top = 0;
  std::map<int64_t, int64_t> live;
};

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_ANALYSIS_FIRSTFIT_H

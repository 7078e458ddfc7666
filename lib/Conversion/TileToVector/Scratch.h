//===- Scratch.h - places in a thread's scratch memory -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_SCRATCH_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_SCRATCH_H

#include <algorithm>
#include <cstdint>
#include <map>

namespace polyattn {

/// Gives out byte ranges, the lowest free place first, and remembers how far they reached.
class Scratch {
public:
  explicit Scratch(int64_t alignment) : alignment(alignment) {}

  int64_t allocate(int64_t bytes) {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    int64_t offset = 0;
    for (auto [start, size] : live) {
      if (start - offset >= bytes)
        break;
      offset = start + size;
    }
    live[offset] = bytes;
    top = std::max(top, offset + bytes);
    return offset;
  }
  /// A place that nothing has had before, for what must outlive a call.
  int64_t allocateFresh(int64_t bytes) {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    int64_t offset = top;
    live[offset] = bytes;
    top += bytes;
    return offset;
  }
  void free(int64_t offset) { live.erase(offset); }
  int64_t bytes() const { return top; }

private:
  int64_t alignment;
  int64_t top = 0;
  std::map<int64_t, int64_t> live;
};

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_SCRATCH_H

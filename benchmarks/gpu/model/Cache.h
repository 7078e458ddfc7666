//===- Cache.h - contents of a cache ----------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_CACHE_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_CACHE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace polyattn::gpumodel {

/// Clocks since the launch. Bandwidths make fractions of them.
using Clock = double;

/// Lines of 128 bytes in four sectors, and when each sector arrives.
class Cache {
public:
  enum class Replacement { LeastRecentlyUsed, Random };
  struct Line {
    uint64_t number = 0;
    uint8_t sectors = 0;
    bool dirty = false;
    std::array<Clock, 4> ready{};
    /// Neighbours in the order of use, and the place among all lines.
    Line *newer = nullptr, *older = nullptr;
    size_t place = 0;

    bool has(int sector) const { return sectors >> sector & 1; }
    void fill(int sector, Clock at) {
      sectors |= 1 << sector;
      ready[sector] = at;
    }
  };

  explicit Cache(uint64_t lines, Replacement replacement = Replacement::LeastRecentlyUsed);
  Cache(const Cache &) = delete;
  Cache &operator=(const Cache &) = delete;

  /// The line if it is there, which is then the last one used.
  Line *find(uint64_t number);
  /// The line, in place of another one if the cache is full.
  Line &insert(uint64_t number);
  /// How many lines were replaced that a store had written to.
  uint64_t replacedDirty() const { return dirtyReplaced; }

private:
  void use(Line &line);
  void unlink(Line &line);
  void replaceOne();

  uint64_t capacity;
  Replacement replacement;
  std::unordered_map<uint64_t, Line> lines;
  std::vector<Line *> places;
  Line *newest = nullptr, *oldest = nullptr;
  uint64_t dirtyReplaced = 0, random = 1;
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_CACHE_H

//===- FirstFit.cpp - places in a memory of a kernel ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FirstFit.h"
#include <algorithm>
#include <functional>
#include <numeric>

using namespace polyattn;

std::optional<int64_t> FirstFit::allocate(int64_t bytes) {
  bytes = rounded(bytes);
  if (!planned.empty())
    return take(planned.at(lifetimes.size()), bytes);
  int64_t offset = 0;
  for (auto [start, request] : live) {
    if (start - offset >= bytes)
      break;
    offset = start + lifetimes[request].bytes;
  }
  return take(offset, bytes);
}

std::optional<int64_t> FirstFit::allocateFresh(int64_t bytes) { return take(top, rounded(bytes)); }

void FirstFit::free(int64_t offset) {
  auto freed = live.find(offset);
  if (freed == live.end())
    return;
  lifetimes[freed->second].end = int64_t(lifetimes.size());
  live.erase(freed);
}

std::optional<int64_t> FirstFit::take(int64_t offset, int64_t bytes) {
  if (bytes > capacity - offset)
    return std::nullopt;
  live[offset] = lifetimes.size();
  lifetimes.push_back({bytes, int64_t(lifetimes.size()), INT64_MAX});
  top = std::max(top, offset + bytes);
  return offset;
}

/// Each at the lowest offset where nothing of those before it in `order` is at the same time.
static PackedMemory packInOrder(const std::vector<Lifetime> &all,
                                const std::vector<size_t> &order) {
  PackedMemory packed;
  packed.offsets.resize(all.size());
  std::vector<size_t> placed;
  for (size_t i : order) {
    std::map<int64_t, int64_t> taken; // ends by beginnings
    for (size_t other : placed)
      if (all[other].begin < all[i].end && all[i].begin < all[other].end) {
        int64_t &end = taken[packed.offsets[other]];
        end = std::max(end, packed.offsets[other] + all[other].bytes);
      }
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (begin - offset >= all[i].bytes)
        break;
      offset = std::max(offset, end);
    }
    packed.offsets[i] = offset;
    packed.bytes = std::max(packed.bytes, offset + all[i].bytes);
    placed.push_back(i);
  }
  return packed;
}

PackedMemory polyattn::pack(const std::vector<Lifetime> &lifetimes) {
  int64_t last = int64_t(lifetimes.size());
  auto length = [&](const Lifetime &own) { return double(std::min(own.end, last) - own.begin); };
  const std::function<double(const Lifetime &)> ranks[] = {
      [](const Lifetime &) { return 0; }, // as they come
      [](const Lifetime &own) { return double(own.bytes); },
      [&](const Lifetime &own) { return double(own.bytes) * length(own); }, length};
  std::optional<PackedMemory> best;
  for (const auto &rank : ranks) {
    std::vector<size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rank(lifetimes[a]) > rank(lifetimes[b]); });
    PackedMemory packed = packInOrder(lifetimes, order);
    if (!best || packed.bytes < best->bytes)
      best = packed;
  }
  return *best;
}

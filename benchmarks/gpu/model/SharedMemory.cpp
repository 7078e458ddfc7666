//===- SharedMemory.cpp - banks of shared memory --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include <algorithm>

using namespace polyattn::gpumodel;

static constexpr int kBanks = 32;

/// Wavefronts of the lanes from `first` on that go together.
static int wavefrontsOfGroup(const WideLanes &addresses, Mask mask, int first, int count,
                             int bytes) {
  std::array<std::array<uint32_t, kLanes>, kBanks> words;
  std::array<int, kBanks> used{};
  int most = 0;
  for (int lane = first; lane < first + count; ++lane) {
    if (!isSet(mask, lane))
      continue;
    for (int offset = 0; offset < bytes; offset += 4) {
      uint32_t word = (static_cast<uint32_t>(addresses[lane]) + offset) / 4;
      int bank = static_cast<int>(word % kBanks);
      auto *end = words[bank].begin() + used[bank];
      if (std::find(words[bank].begin(), end, word) != end)
        continue;
      *end = word;
      most = std::max(most, ++used[bank]);
    }
  }
  return most;
}

int polyattn::gpumodel::wavefronts(const WideLanes &addresses, Mask mask, int bytes) {
  int together = bytes >= 16 ? 8 : bytes == 8 ? 16 : kLanes;
  int total = 0;
  for (int first = 0; first < kLanes; first += together)
    total += wavefrontsOfGroup(addresses, mask, first, together, bytes);
  return std::max(total, 1);
}

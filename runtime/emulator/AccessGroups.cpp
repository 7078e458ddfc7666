//===- AccessGroups.cpp - accesses of lanes, gathered to those of their warp ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AccessGroups.h"
#include <algorithm>

using namespace polyattn::emulator;

static constexpr int kBanks = 32;
static constexpr uint64_t kBankBytes = 4;
static constexpr uint64_t kSectorBytes = 32;

/// Lanes that are served together: all, or as many as fill the banks once.
static int lanesAtOnce(uint32_t bytes) {
  return bytes <= kBankBytes ? 32 : int(kBanks * kBankBytes / bytes);
}

/// The most different words that lie in one bank.
static int countConflicts(const uint64_t *addresses, uint32_t lanes, uint32_t bytes) {
  uint64_t words[kBanks][32];
  int counts[kBanks] = {};
  int most = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    for (uint64_t word = addresses[lane] / kBankBytes;
         word <= (addresses[lane] + bytes - 1) / kBankBytes; ++word) {
      uint64_t *known = words[word % kBanks];
      int &used = counts[word % kBanks];
      if (std::find(known, known + used, word) == known + used)
        known[used++] = word;
      most = std::max(most, used);
    }
  }
  return most;
}

template <typename Visit> static void forEachServing(uint32_t lanes, uint32_t bytes, Visit visit) {
  int step = lanesAtOnce(bytes);
  for (int lane = 0; lane < 32; lane += step)
    if (uint32_t together = lanes >> lane & (step == 32 ? ~0u : (1u << step) - 1))
      visit(lane, together);
}

int polyattn::emulator::countWavefronts(const uint64_t addresses[32], uint32_t lanes,
                                        uint32_t bytes) {
  int total = 0;
  forEachServing(lanes, bytes, [&](int first, uint32_t together) {
    total += countConflicts(addresses + first, together, bytes);
  });
  return total;
}

static int countServings(uint32_t lanes, uint32_t bytes) {
  int total = 0;
  forEachServing(lanes, bytes, [&](int, uint32_t) { ++total; });
  return total;
}

/// Aligned accesses lie in one sector each.
static int countSectors(const uint64_t addresses[32], uint32_t lanes) {
  uint64_t sectors[32];
  int count = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1)
      sectors[count++] = addresses[lane] / kSectorBytes;
  std::sort(sectors, sectors + count);
  return int(std::unique(sectors, sectors + count) - sectors);
}

void AccessGroups::record(int lane, uint32_t site, Kind kind, uint64_t address, uint32_t bytes) {
  // Only lanes that have left the others' way need to look far.
  constexpr size_t kAhead = 64;
  size_t end = std::min(used, next[lane] + kAhead);
  size_t i = next[lane];
  while (i < end && !groups[i].admits(lane, site, kind, bytes))
    ++i;
  bool found = i < end;
  if (!found) {
    i = used++;
    if (i == groups.size())
      groups.emplace_back();
    groups[i].site = site;
    groups[i].kind = kind;
    groups[i].bytes = bytes;
    groups[i].lanes = 0;
  }
  groups[i].lanes |= 1u << lane;
  groups[i].addresses[lane] = address;
  // A lane that did what the others did not stays where they may meet again.
  if (found || i == next[lane])
    next[lane] = i + 1;
}

void AccessGroups::flush(Counters &counters, Interval &interval) {
  for (size_t i = 0; i < used; ++i) {
    const Group &group = groups[i];
    uint64_t bytes = uint64_t(group.bytes) * __builtin_popcount(group.lanes);
    if (group.kind == Shared || group.kind == ClusterRead) {
      int wavefronts = countWavefronts(group.addresses, group.lanes, group.bytes);
      interval.wavefronts += wavefronts;
      counters.addShared(group.site, wavefronts, countServings(group.lanes, group.bytes));
      if (group.kind == ClusterRead)
        counters.clusterBytesRead += bytes;
      continue;
    }
    int sectors = countSectors(group.addresses, group.lanes);
    bool isRead = group.kind == GlobalRead;
    (isRead ? counters.globalBytesRead : counters.globalBytesWritten) += bytes;
    (isRead ? counters.globalSectorsRead : counters.globalSectorsWritten) += sectors;
    counters.at(group.site).globalSectors += sectors;
  }
  used = 0;
  std::fill(next, next + 32, 0);
}

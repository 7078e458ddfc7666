//===- Counters.h - what a run costs ----------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_COUNTERS_H
#define POLYATTN_RUNTIME_EMULATOR_COUNTERS_H

#include <cstdint>
#include <vector>

namespace polyattn::emulator {

/// What a multiprocessor needs for its work. docs/Emulator.md gives the sources of these figures.
struct Chip {
  const char *name;
  /// Clocks of one sub-core's tensor cores for a product of 16 x 8 (x 16 of 16 bits, x 8 of tf32).
  double mmaClocks;
  /// Dense multiply-adds of bf16 of a whole multiprocessor per clock, by its fastest instructions:
  /// what fractions of the chip's rate are of.
  double multiplyAddsPerClock;
};

/// The chips that have a name, a default first and an entry without a name last.
const Chip *getChips();

/// What one op of the kernel contributes to the counters below.
struct SiteCounters {
  uint64_t mma = 0, sharedWavefronts = 0, globalSectors = 0;

  void add(const SiteCounters &other) {
    mma += other.mma;
    sharedWavefronts += other.sharedWavefronts;
    globalSectors += other.globalSectors;
  }
};

/// Sums over all CTAs of a launch.
struct Counters {
  static constexpr int kKinds = 3;
  /// Products of a warp: bf16, f16, tf32.
  uint64_t mma[kKinds] = {};
  /// Clocks that shared memory is busy, and how many it would be without bank conflicts.
  uint64_t sharedWavefronts = 0, idealSharedWavefronts = 0;
  /// From the shared memory of other CTAs; their wavefronts are among those above.
  uint64_t clusterBytesRead = 0;
  uint64_t globalBytesRead = 0, globalBytesWritten = 0;
  /// Sectors of 32 aligned bytes, counted for each access of a warp.
  uint64_t globalSectorsRead = 0, globalSectorsWritten = 0;
  uint64_t barriers = 0;
  /// Summed over the intervals between barriers: clocks of the busiest sub-core's tensor cores, of
  /// shared memory, and of whichever of the two is longer.
  double tensorClocks = 0, sharedClocks = 0, predictedClocks = 0;
  /// Costs per op, by the op's index.
  std::vector<SiteCounters> sites;

  SiteCounters &at(uint32_t site) {
    if (site >= sites.size())
      sites.resize(site + 1);
    return sites[site];
  }
  void addShared(uint32_t site, uint64_t wavefronts, uint64_t withoutConflicts) {
    sharedWavefronts += wavefronts;
    idealSharedWavefronts += withoutConflicts;
    at(site).sharedWavefronts += wavefronts;
  }
  void add(const Counters &other);
};

/// The interval between two barriers of one CTA.
struct Interval {
  static constexpr int kSubCores = 4;
  uint64_t mma[kSubCores] = {};
  uint64_t wavefronts = 0;

  /// Adds this interval's clocks, begins the next, and returns the predicted ones.
  double end(const Chip &chip, Counters &counters);
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_COUNTERS_H

//===- AccessGroups.h - accesses of lanes, gathered to those of their warp *- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes run one after another here, and together on a GPU: what they do between two meetings of
// their warp is put together again by the op and the order, to count conflicts of banks and
// sectors of global memory.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_ACCESSGROUPS_H
#define POLYATTN_RUNTIME_EMULATOR_ACCESSGROUPS_H

#include "Counters.h"
#include <cstddef>
#include <vector>

namespace polyattn::emulator {

/// How many times shared memory is busy for one access of `bytes` by each of the lanes whose bits
/// are set.
int countWavefronts(const uint64_t addresses[32], uint32_t lanes, uint32_t bytes);

/// The accesses of one warp since it last met.
class AccessGroups {
public:
  enum Kind : uint8_t { Shared, ClusterRead, GlobalRead, GlobalWrite };

  void record(int lane, uint32_t site, Kind kind, uint64_t address, uint32_t bytes);
  /// The warp has met: adds what its accesses cost, and forgets them.
  void flush(Counters &counters, Interval &interval);

private:
  struct Group {
    uint32_t site;
    Kind kind;
    uint32_t bytes;
    /// A bit for each lane that takes part.
    uint32_t lanes;
    uint64_t addresses[32];

    bool admits(int lane, uint32_t ofSite, Kind ofKind, uint32_t ofBytes) const {
      return site == ofSite && kind == ofKind && bytes == ofBytes && !(lanes >> lane & 1);
    }
  };
  /// The first `used` are of now; the others are kept for their memory.
  std::vector<Group> groups;
  size_t used = 0;
  /// The group that each lane's next access is looked for from.
  size_t next[32] = {};
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_ACCESSGROUPS_H

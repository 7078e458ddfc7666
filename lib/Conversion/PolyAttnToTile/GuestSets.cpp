//===- GuestSets.cpp - attends beside those of another mask ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of keys and values are swept over backwards, those of queries forwards, and both
// form the features of the same block. Where the gradients of queries read states that the forward
// call has kept, their blocks come in any order: the kernel of the others computes each of them
// beside its own, and forms what both need once.
//
//===----------------------------------------------------------------------===//

#include "AttendSet.h"

using namespace polyattn;

/// Whether the programs of `host` have all that blocks of `set` need. Rows that pass between sets,
/// and what is kept for decays, are those of kernels one after another; sums of weights are
/// there for a whole kernel or not at all.
static bool canHost(const AttendSet &host, const AttendSet &set) {
  return host.mask() == Mask::Anticausal && !host.guest && host.block() == set.block() &&
         set.given.empty() && set.taken.empty() && !set.keepsValues() &&
         host.sums.empty() == set.sums.empty();
}

void polyattn::hostGuests(std::vector<AttendSet> &sets) {
  for (size_t i = 0; i < sets.size();) {
    auto host = sets.end();
    if (sets[i].readsStates() && !sets[i].ofKeys())
      host = llvm::find_if(sets, [&](const AttendSet &other) { return canHost(other, sets[i]); });
    if (host == sets.end()) {
      ++i;
      continue;
    }
    host->guest = std::make_shared<const AttendSet>(sets[i]);
    sets.erase(sets.begin() + i);
  }
}

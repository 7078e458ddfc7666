//===- FusedSets.cpp - attends beside those of another mask ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of keys and values are swept over backwards, those of queries forwards, and both
// form the features of the same block. Where the gradients of queries read states that the forward
// call has saved, their blocks come in any order: the kernel of the others computes each of them
// beside its own, and forms the features of both once.
//
//===----------------------------------------------------------------------===//

#include "AttendSet.h"

using namespace polyattn;

/// Whether the programs of `main` have all that blocks of `set` need. Rows that pass between sets,
/// and values that are saved for sums, are those of kernels one after another; sums of weights
/// are there for a whole kernel or not at all.
static bool canFuse(const AttendSet &main, const AttendSet &set) {
  return main.mask() == Mask::Anticausal && !main.fused && main.block() == set.block() &&
         set.exported.empty() && set.imported.empty() && !set.savesValues() &&
         main.sums.empty() == set.sums.empty();
}

void polyattn::fuseSets(std::vector<AttendSet> &sets) {
  for (size_t i = 0; i < sets.size();) {
    auto main = sets.end();
    if (sets[i].readsStates() && !sets[i].ofKeys())
      main = llvm::find_if(sets, [&](const AttendSet &other) { return canFuse(other, sets[i]); });
    if (main == sets.end()) {
      ++i;
      continue;
    }
    main->fused = std::make_shared<const AttendSet>(sets[i]);
    sets.erase(sets.begin() + i);
  }
}

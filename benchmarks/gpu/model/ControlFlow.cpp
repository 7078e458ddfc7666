//===- ControlFlow.cpp - divergence of a warp's lanes ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Warp.h"
#include <algorithm>

using namespace polyattn::gpumodel;

/// Goes on with the group of the least address, and joins those that are there.
void ControlFlow::runLeast() {
  groups.push_back({index, mask});
  auto least = std::min_element(groups.begin(), groups.end(),
                                [](const Group &a, const Group &b) { return a.index < b.index; });
  index = least->index;
  mask = 0;
  for (const Group &group : groups)
    if (group.index == index)
      mask |= group.mask;
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [&](const Group &group) { return group.index == index; }),
               groups.end());
}

void ControlFlow::advance() { jump(index + 1); }

void ControlFlow::jump(int target) {
  index = target;
  if (!groups.empty())
    runLeast();
}

void ControlFlow::branch(int target, Mask taken) {
  if (taken == mask) {
    jump(target);
    return;
  }
  if (taken) {
    groups.push_back({target, taken});
    mask &= ~taken;
  }
  advance();
}

void ControlFlow::setReconvergence(int barrier, Mask lanes) { barriers.at(barrier) = lanes; }

void ControlFlow::leaveReconvergence(int barrier, Mask lanes) { barriers.at(barrier) &= ~lanes; }

bool ControlFlow::reconverge(int barrier) {
  Mask needed = barriers.at(barrier) & live, here = mask;
  auto joins = [&](const Waiting &other) {
    return other.barrier == barrier && other.index == index;
  };
  for (const Waiting &other : waiting)
    if (joins(other))
      here |= other.mask;
  if ((here & needed) == needed) {
    // Lanes that the barrier does not name pass it with those that are here.
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(), joins), waiting.end());
    mask = here;
    advance();
    return true;
  }
  waiting.push_back({barrier, index, mask});
  if (groups.empty())
    throw Failure("lanes wait for lanes of their warp that do not come");
  Group other = groups.back();
  groups.pop_back();
  mask = other.mask;
  jump(other.index);
  return false;
}

bool ControlFlow::exit(Mask lanes) {
  live &= ~lanes;
  mask &= ~lanes;
  if (mask) {
    advance();
    return true;
  }
  if (groups.empty() && waiting.empty())
    return false;
  // Those that waited for lanes that have ended execute BSYNC again.
  Group other = groups.empty() ? Group{waiting.back().index, waiting.back().mask} : groups.back();
  groups.empty() ? waiting.pop_back() : groups.pop_back();
  mask = other.mask;
  jump(other.index);
  return true;
}

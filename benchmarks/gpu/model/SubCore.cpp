//===- SubCore.cpp - which warp of a sub-core issues when -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulator.h"
#include <algorithm>

using namespace polyattn::gpumodel;

static Cause causeOf(Pipe pipe) {
  switch (pipe) {
  case Pipe::Tensor:
    return Cause::Tensor;
  case Pipe::LoadStore:
    return Cause::LoadStoreQueue;
  case Pipe::Functions:
    return Cause::Functions;
  case Pipe::ALU:
    return Cause::ALU;
  case Pipe::FMA:
  case Pipe::HeavyFMA:
    return Cause::FMA;
  default:
    return Cause::OtherPipe;
  }
}

/// When the copies are there that a DEPBAR waits for: all groups but the latest ones.
static Clock copiesArrive(const Warp &warp, const Instruction &instruction) {
  const std::vector<Operand> &operands = instruction.operands;
  size_t allowed = operands.size() > 1 ? operands[1].immediate : 0;
  Clock at = 0;
  for (size_t group = 0; group + allowed < warp.copyGroups.size(); ++group)
    at = std::max(at, warp.copyGroups[group]);
  return at;
}

Event Simulator::earliest(const Warp &warp) const {
  if (warp.hasEnded || warp.awaitsCTA || warp.awaitsCluster)
    return {kNever, Cause::Other};
  const Instruction &instruction = instructionOf(warp);
  Event event = warp.ready;
  auto notBefore = [&](Clock at, Cause cause) {
    if (at > event.at)
      event = {at, cause};
  };
  for (size_t k = 0; k < warp.scoreboards.size(); ++k)
    if (instruction.control.waitMask >> k & 1)
      notBefore(warp.scoreboards[k].at, warp.scoreboards[k].cause);
  if (instruction.operation == Operation::AwaitCopies)
    notBefore(copiesArrive(warp, instruction), Cause::Copies);
  if (!whatIf.noFetch)
    notBefore(warp.fetched, Cause::Fetch);
  const SubCore &subCore = subCoreOf(warp);
  if (instruction.pipe != Pipe::None)
    notBefore(subCore.pipe(instruction.pipe), causeOf(instruction.pipe));
  auto depth = static_cast<size_t>(machine.lsuQueue);
  if (instruction.pipe == Pipe::LoadStore && subCore.loadStoreQueue.size() >= depth)
    notBefore(subCore.loadStoreQueue[subCore.loadStoreQueue.size() - depth], Cause::LoadStoreQueue);
  return event;
}

// A sub-core issues one instruction a clock.
Clock Simulator::earliestOf(const SubCore &subCore, Clock now) const {
  Clock first = kNever;
  for (const Warp *warp : subCore.warps) {
    Clock at = earliest(*warp).at;
    first =
        std::min(first, std::max(at, instructionOf(*warp).isFree ? now : subCore.lastIssue + 1));
  }
  return first;
}

/// The warp that issued last, else the one that has waited longest.
Warp *Simulator::choose(const SubCore &subCore, Clock now, Event &event) const {
  Warp *chosen = nullptr;
  for (Warp *warp : subCore.warps) {
    if (subCore.lastIssue >= now && !instructionOf(*warp).isFree)
      continue;
    Event own = earliest(*warp);
    if (own.at > now + 1e-6)
      continue;
    if (warp == subCore.lastWarp) {
      event = own;
      return warp;
    }
    if (!chosen || warp->since < chosen->since) {
      chosen = warp;
      event = own;
    }
  }
  return chosen;
}

//===- Simulator.h - runs the CTAs of a multiprocessor or of a c-*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_SIMULATOR_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_SIMULATOR_H

#include "LoadStore.h"

namespace polyattn::gpumodel {

class Simulator {
public:
  Simulator(const Machine &machine, const WhatIf &whatIf, const Program &program,
            const Launch &launch);

  /// Runs all programs of the multiprocessor.
  const Statistics &run();
  const Placement &getPlacement() const { return placement; }

private:
  using Cluster = std::vector<std::unique_ptr<CTA>>;

  // Simulator.cpp: CTAs, and the order of events.
  void start(uint32_t firstCTA, Clock at);
  void startCTA(CTA &cta, Clock at);
  void retire(Clock at);
  void issueFrom(SubCore &subCore, Clock now);
  [[noreturn]] void failStuck() const;

  // SubCore.cpp: which warp issues when.
  Event earliest(const Warp &warp) const;
  Clock earliestOf(const SubCore &subCore, Clock now) const;
  Warp *choose(const SubCore &subCore, Clock now, Event &event) const;

  // Issue.cpp: an instruction of a warp.
  void issue(Warp &warp, Clock at, Cause cause);
  Completion complete(Warp &warp, const Instruction &instruction, Mask mask, Clock at);
  void occupyPipe(SubCore &subCore, const Instruction &instruction, Clock at) const;
  double intervalOf(const Instruction &instruction) const;
  Event latencyOf(const Instruction &instruction, Clock at) const;
  void setScoreboards(Warp &warp, const Instruction &instruction, const Completion &completion);
  /// Where the warp goes on.
  void go(Warp &warp, const Instruction &instruction, Mask mask, Clock at);
  void fetchNext(Warp &warp, Clock at);

  // Barriers.cpp
  void arriveAtCTA(Warp &warp, Clock at);
  void releaseCTA(CTA &cta, Clock at);
  void awaitCluster(Warp &warp);
  void checkCluster(CTA &cta, Clock at);
  void finish(Warp &warp, Clock at);
  void release(Warp &warp, Clock at, Cause cause);

  Multiprocessor &multiprocessorOf(const Warp &warp) const {
    return *multiprocessors[warp.cta.multiprocessor];
  }
  SubCore &subCoreOf(const Warp &warp) const { return multiprocessorOf(warp).subCoreOf(warp); }
  const Instruction &instructionOf(const Warp &warp) const {
    return program.instructions[warp.control.next()];
  }

  const Machine &machine;
  const WhatIf &whatIf;
  const Program &program;
  const Launch &launch;
  Placement placement;
  Statistics statistics;
  MemorySystem memory;
  LoadStore loadStore;
  std::vector<std::unique_ptr<Multiprocessor>> multiprocessors;
  std::deque<uint32_t> waitingPrograms;
  std::vector<Cluster> running;
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_SIMULATOR_H

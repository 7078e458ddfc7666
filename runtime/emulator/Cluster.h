//===- Cluster.h - the CTAs of one program ----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_CLUSTER_H
#define POLYATTN_RUNTIME_EMULATOR_CLUSTER_H

#include "Block.h"

namespace polyattn::emulator {

/// Runs the CTAs of one program at a time: one, or the several of a cluster, which can read each
/// other's shared memory. A thread of the host has one of these and runs many programs with it.
class Cluster {
public:
  Cluster(const Launch &launch, GlobalMemory &globalMemory);

  /// Runs a program; its costs are added to the counters.
  void run(int64_t program, Counters &counters, Findings &findings);

  Block &at(uint32_t rank) { return *blocks[rank]; }
  /// A thread is at the cluster barrier. True if it is the last one: then all go on.
  bool arrive();

private:
  bool advance();
  void diagnoseStuck(); // Stuck.cpp

  const Launch &launch;
  std::vector<std::unique_ptr<Block>> blocks;
  int atBarrier = 0;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_CLUSTER_H

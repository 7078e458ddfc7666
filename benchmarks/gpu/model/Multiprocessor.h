//===- Multiprocessor.h - sub-cores, caches and ports of a multi-*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_MULTIPROCESSOR_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_MULTIPROCESSOR_H

#include "Machine.h"
#include "Warp.h"

namespace polyattn::gpumodel {

constexpr int kSubCores = 4;
constexpr int kLineBytes = 128, kSectorBytes = 32;
constexpr Clock kNever = 1e30;

struct SubCore {
  explicit SubCore(const Machine &machine)
      : instructionCache(static_cast<uint64_t>(machine.l0InstructionBytes / kLineBytes)) {}

  /// When each pipe takes the next instruction.
  std::array<Clock, static_cast<int>(Pipe::Count)> pipeFree{};
  std::vector<Warp *> warps;
  Clock lastIssue = -1;
  Warp *lastWarp = nullptr;
  /// When the load/store unit takes or took the latest memory instructions.
  std::deque<Clock> loadStoreQueue;
  Cache instructionCache;
  /// When the next warp may issue; looked for again after a change.
  Clock next = 0;
  bool changed = true;

  Clock &pipe(Pipe pipe) { return pipeFree[static_cast<int>(pipe)]; }
  Clock pipe(Pipe pipe) const { return pipeFree[static_cast<int>(pipe)]; }
};

struct Multiprocessor {
  Multiprocessor(const Machine &machine, uint64_t l1Lines)
      : l1(l1Lines),
        instructionCache(static_cast<uint64_t>(machine.l1InstructionBytes / kLineBytes)) {
    for (int k = 0; k < kSubCores; ++k)
      subCores.push_back(std::make_unique<SubCore>(machine));
  }
  SubCore &subCoreOf(const Warp &warp) { return *subCores[warp.identity.warp % kSubCores]; }

  std::vector<std::unique_ptr<SubCore>> subCores;
  Cache l1, instructionCache;
  /// When each of these takes the next piece of work.
  Clock loadStoreFree = 0, fromL2Free = 0, toL2Free = 0, memoryFree = 0, remoteFree = 0,
        instructionsFree = 0;
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_MULTIPROCESSOR_H

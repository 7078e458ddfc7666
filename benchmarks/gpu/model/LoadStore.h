//===- LoadStore.h - the load/store unit ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_LOADSTORE_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_LOADSTORE_H

#include "MemorySystem.h"

namespace polyattn::gpumodel {

/// When the scoreboards of an instruction are released.
struct Completion {
  /// The result is there, or a store's operands have been read.
  Event written;
  Clock operandsRead = 0;
};

/// Executes memory instructions, one after another as the unit of the multiprocessor takes them.
class LoadStore {
public:
  LoadStore(const Machine &machine, const WhatIf &whatIf, const Launch &launch,
            MemorySystem &memory, Statistics &statistics)
      : machine(machine), whatIf(whatIf), launch(launch), memory(memory), statistics(statistics) {}

  static bool takes(Operation operation);
  Completion issue(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                   Multiprocessor &multiprocessor);

private:
  /// When the unit takes an instruction that occupies it for so many wavefronts.
  Clock enter(Warp &warp, double waves, Clock at, Multiprocessor &multiprocessor);
  Completion shared(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                    Multiprocessor &multiprocessor);
  Completion remote(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                    Multiprocessor &multiprocessor);
  Completion global(Warp &warp, const Instruction &instruction, Mask mask, Clock at,
                    Multiprocessor &multiprocessor);
  void loadShared(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                  Mask mask);
  void loadMatrix(Warp &warp, const Instruction &instruction, const WideLanes &addresses);
  void storeShared(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                   Mask mask);
  void loadGlobal(Warp &warp, const Instruction &instruction, const WideLanes &addresses,
                  Mask mask);
  void report(Warp &warp, const Instruction &instruction, const WideLanes &addresses, Mask mask);
  WideLanes localAddresses(const Warp &warp, WideLanes addresses) const;
  double sharedLatency(const Instruction &instruction) const;

  const Machine &machine;
  const WhatIf &whatIf;
  const Launch &launch;
  MemorySystem &memory;
  Statistics &statistics;
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_LOADSTORE_H

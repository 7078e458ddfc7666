//===- MemorySystem.h - latency and bandwidth of caches and devi-*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_MEMORYSYSTEM_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_MEMORYSYSTEM_H

#include "Launch.h"
#include "Multiprocessor.h"
#include "WhatIf.h"

namespace polyattn::gpumodel {

class MemorySystem {
public:
  MemorySystem(const Machine &machine, const WhatIf &whatIf, const Launch &launch,
               const Placement &placement, Statistics &statistics);

  /// When a sector of 32 bytes that is asked for at `at` arrives, and from where.
  Event read(Multiprocessor &multiprocessor, uint64_t sector, Clock at, bool throughL1);
  /// When a sector that is ready at `at` leaves the multiprocessor.
  Clock write(Multiprocessor &multiprocessor, uint64_t sector, Clock at);

private:
  Event readThroughL2(Multiprocessor &multiprocessor, uint64_t sector, Place place, Clock start);
  Cache::Line &insertIntoL2(Multiprocessor &multiprocessor, uint64_t sector, Clock at);
  Place placeOf(uint64_t sector) const;

  const Machine &machine;
  const WhatIf &whatIf;
  const Launch &launch;
  const Placement &placement;
  Statistics &statistics;
  Cache l2;
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_MEMORYSYSTEM_H

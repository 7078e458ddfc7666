//===- Statistics.h - what the model counts ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_STATISTICS_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_STATISTICS_H

#include "Cache.h"
#include <map>

namespace polyattn::gpumodel {

/// What a warp waits for before it issues an instruction.
enum class Cause : uint8_t {
  Issue,
  Stall,
  SharedMemory,
  L1,
  L2,
  DeviceMemory,
  Functions,
  Shuffle,
  Constant,
  RemoteShared,
  Copies,
  CTABarrier,
  ClusterBarrier,
  Tensor,
  LoadStoreQueue,
  ALU,
  FMA,
  OtherPipe,
  NotSelected,
  Fetch,
  OperandsRead,
  Start,
  Other,
  Count
};
constexpr int kCauses = static_cast<int>(Cause::Count);
const char *nameOf(Cause cause);

/// Clocks of warps by cause.
using Waits = std::array<Clock, kCauses>;

struct InstructionCounts {
  uint64_t executions = 0;
  Waits waits{};
};

struct Statistics {
  uint64_t instructions = 0, mma = 0, sharedWavefronts = 0, sharedAccesses = 0, l1Hits = 0,
           bytesFromL2 = 0, bytesFromMemory = 0, bytesToMemory = 0, bytesStored = 0, loads = 0,
           stores = 0, copies = 0, localAccesses = 0, instructionMisses = 0;
  Waits waits{};
  std::vector<InstructionCounts> ofInstruction;
  /// What was stored to reported tensors, by the offset.
  std::map<uint64_t, uint32_t> reported;
  Clock clocks = 0;

  void wait(int instruction, Cause cause, Clock clocks) {
    if (clocks <= 0)
      return;
    waits[static_cast<int>(cause)] += clocks;
    ofInstruction[instruction].waits[static_cast<int>(cause)] += clocks;
  }
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_STATISTICS_H

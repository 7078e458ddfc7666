//===- GPUDescription.h - what a lowering knows of a GPU --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_GPUDESCRIPTION_H
#define POLYATTN_TARGET_GPUDESCRIPTION_H

#include <algorithm>
#include <cstdint>
#include <string>

namespace polyattn {

/// One generation of GPUs, as the lowerings and the code generator see it. Schedules that are
/// chosen without a device take the figures of its largest server card.
struct GPUDescription {
  /// LLVM's and ptxas's name, "sm_90".
  std::string name = "sm_80";
  /// The PTX ISA that the code is written in, 78 for 7.8.
  int64_t ptxVersion = 70;

  // What one thread, one CTA and one SM can have, alike in all generations.
  static constexpr int64_t warpSize = 32;
  static constexpr int64_t maxThreadsPerBlock = 1024;
  static constexpr int64_t registersPerThread = 255;
  static constexpr int64_t registersPerSM = 65536;
  /// A thread takes a multiple of this from its SM.
  static constexpr int64_t registerUnit = 8;
  /// Shared memory that the system keeps of every CTA, in addition to what it asks for.
  static constexpr int64_t reservedSharedBytesPerBlock = 1024;

  // Limits in which generations differ.
  int64_t maxWarpsPerSM = 64;
  int64_t maxBlocksPerSM = 32;
  int64_t sharedBytesPerBlock = 163 * 1024;
  int64_t sharedBytesPerSM = 164 * 1024;
  /// On every card of the generation; 1 where CTAs are on their own.
  int64_t maxBlocksPerCluster = 1;

  // The whole card.
  int64_t multiprocessors = 108;
  int64_t l2Bytes = 40 << 20;
  /// Dense products with f32 accumulators: two operations for each multiply-add.
  double bf16FlopsPerSecond = 312e12;
  double tf32FlopsPerSecond = 156e12;
  double globalBytesPerSecond = 2.0e12;

  /// CTAs whose shared memory fits one SM.
  static constexpr int64_t blocksByMemory(int64_t sharedBytes, int64_t sharedBytesPerSM) {
    return sharedBytesPerSM / (sharedBytes + reservedSharedBytesPerBlock);
  }
  /// CTAs that fit an SM where every thread may use as many registers as there can be: a lower
  /// bound, since a kernel with fewer registers fits more often.
  static constexpr int64_t blocksPerSM(int64_t threads, int64_t sharedBytes,
                                       int64_t sharedBytesPerSM) {
    constexpr int64_t perThread =
        (registersPerThread + registerUnit - 1) / registerUnit * registerUnit;
    return std::min(blocksByMemory(sharedBytes, sharedBytesPerSM),
                    registersPerSM / (perThread * threads));
  }

  // What our kernels make of a thread's registers, measured with ptxas (docs/Kernels.md).

  /// Registers that the values of a kernel in the warp dialect may take: a third is for what comes
  /// after it, addresses, functions that are expanded and the order that ptxas chooses. Near the
  /// limit it spills unpredictably.
  static constexpr int64_t usableRegistersPerThread() { return registersPerThread * 2 / 3; }
  /// What most kernels take, or more: these in whole units.
  static constexpr int64_t usualRegistersPerThread() {
    return usableRegistersPerThread() / registerUnit * registerUnit;
  }
  /// Accumulators that a thread may have at a time: factors and addresses take the rest.
  static constexpr int64_t maxAccumulatorsPerThread = 112;
  /// Accumulators that a thread may have together with the states that loops carry.
  static constexpr int64_t maxAccumulatorsWithStates = 160;
  /// Accumulators that products leave free whose sums are added by rounding additions: ptxas begins
  /// the sums of many fragments at once, which wait in as many registers until they are added.
  static constexpr int64_t registersOfRoundedSums = 56;
  /// Accumulators of one value, so that others have some.
  static constexpr int64_t maxAccumulatorsOfValue = 64;
  /// Those of a value that the next product has as its left factor: its own sums come beside it.
  static constexpr int64_t maxAccumulatorsOfFactor = 32;
  /// Values that loops may carry in a thread's registers beside what they compute with.
  static constexpr int64_t carriedNumbersPerThread = 64;

  /// Bytes that a number of a state takes near tensor cores: its sum in f32, and the copy in 16
  /// bits that products read.
  static constexpr int64_t bytesPerStateNumber = 4 + 2;
};

} // namespace polyattn

#endif // POLYATTN_TARGET_GPUDESCRIPTION_H

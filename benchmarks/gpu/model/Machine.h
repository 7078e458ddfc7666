//===- Machine.h - numbers of the modelled GPU ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_MACHINE_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_MACHINE_H

#include <string>
#include <vector>

namespace polyattn::gpumodel {

/// The machine's numbers and their names in the table, which says what they mean.
#define POLYATTN_GPU_MODEL_NUMBERS(X)                                                              \
  X(clockGhz, "clock_ghz")                                                                         \
  X(multiprocessors, "multiprocessors")                                                            \
  X(clustersOfTwo, "clusters_of_two")                                                              \
  X(registers, "registers")                                                                        \
  X(registerUnit, "register_unit")                                                                 \
  X(sharedBytes, "shared_bytes")                                                                   \
  X(sharedReservedBytes, "shared_reserved_bytes")                                                  \
  X(maxWarps, "max_warps")                                                                         \
  X(maxCtas, "max_ctas")                                                                           \
  X(aluInterval, "alu_interval")                                                                   \
  X(fmaInterval, "fma_interval")                                                                   \
  X(fmaHeavyInterval, "fma_heavy_interval")                                                        \
  X(halfInterval, "half_interval")                                                                 \
  X(functionsInterval, "functions_interval")                                                       \
  X(uniformInterval, "uniform_interval")                                                           \
  X(doubleInterval, "double_interval")                                                             \
  X(mmaInterval, "mma_interval")                                                                   \
  X(wgmmaInterval, "wgmma_interval")                                                               \
  X(mmaLatency, "mma_latency")                                                                     \
  X(functionsLatency, "functions_latency")                                                         \
  X(doubleLatency, "double_latency")                                                               \
  X(specialLatency, "special_latency")                                                             \
  X(constantLatency, "constant_latency")                                                           \
  X(otherLatency, "other_latency")                                                                 \
  X(readLatency, "read_latency")                                                                   \
  X(branchLatency, "branch_latency")                                                               \
  X(lsuInterval, "lsu_interval")                                                                   \
  X(lsuIssueLatency, "lsu_issue_latency")                                                          \
  X(lsuQueue, "lsu_queue")                                                                         \
  X(lsuReadLatency, "lsu_read_latency")                                                            \
  X(ldsLatency, "lds_latency")                                                                     \
  X(lds64Latency, "lds64_latency")                                                                 \
  X(lds128Latency, "lds128_latency")                                                               \
  X(ldsmLatency, "ldsm_latency")                                                                   \
  X(stsReadLatency, "sts_read_latency")                                                            \
  X(shuffleWaves, "shuffle_waves")                                                                 \
  X(shuffleLatency, "shuffle_latency")                                                             \
  X(remoteLatency, "remote_latency")                                                               \
  X(remoteWaves, "remote_waves")                                                                   \
  X(remoteBytesPerClock, "remote_bytes_per_clock")                                                 \
  X(l1Latency, "l1_latency")                                                                       \
  X(l1LineWaves, "l1_line_waves")                                                                  \
  X(l1Bytes, "l1_bytes")                                                                           \
  X(copyWriteWaves, "copy_write_waves")                                                            \
  X(copyExtraLatency, "copy_extra_latency")                                                        \
  X(l2Latency, "l2_latency")                                                                       \
  X(l2Bytes, "l2_bytes")                                                                           \
  X(l2BytesPerClock, "l2_bytes_per_clock")                                                         \
  X(smBytesPerClock, "sm_bytes_per_clock")                                                         \
  X(smStoreBytesPerClock, "sm_store_bytes_per_clock")                                              \
  X(memoryLatency, "memory_latency")                                                               \
  X(memoryTerabytesPerSecond, "memory_terabytes_per_second")                                       \
  X(fenceLatency, "fence_latency")                                                                 \
  X(l0InstructionBytes, "l0_instruction_bytes")                                                    \
  X(l1InstructionBytes, "l1_instruction_bytes")                                                    \
  X(l1InstructionLatency, "l1_instruction_latency")                                                \
  X(instructionMissLatency, "instruction_miss_latency")                                            \
  X(instructionMissInterval, "instruction_miss_interval")                                          \
  X(fetchAheadLines, "fetch_ahead_lines")                                                          \
  X(barrierLatency, "barrier_latency")                                                             \
  X(clusterBarrierLatency, "cluster_barrier_latency")                                              \
  X(ctaStartLatency, "cta_start_latency")                                                          \
  X(ctaLaunchGap, "cta_launch_gap")                                                                \
  X(launchMicroseconds, "launch_microseconds")

struct Machine {
#define POLYATTN_GPU_MODEL_NUMBER(FIELD, NAME) double FIELD = 0;
  POLYATTN_GPU_MODEL_NUMBERS(POLYATTN_GPU_MODEL_NUMBER)
#undef POLYATTN_GPU_MODEL_NUMBER

  /// Clocks of a second.
  double clockRate() const { return clockGhz * 1e9; }
};

/// Reads a table: each number once, and nothing else. `settings` are NAME=VALUE, which replace
/// numbers of the table.
Machine readMachine(const std::string &text, const std::vector<std::string> &settings = {});

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_MACHINE_H

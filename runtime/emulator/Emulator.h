//===- Emulator.h - GPU kernels on the host, checked ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel whose words are calls of `polyattn_emu_*` (Calls.h), one fiber for each thread of
// a CTA, and checks every access. docs/Emulator.md says what is found and what is not. Nothing of
// LLVM here.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_EMULATOR_H
#define POLYATTN_RUNTIME_EMULATOR_EMULATOR_H

#include "Counters.h"
#include "Findings.h"
#include "GlobalMemory.h"

namespace polyattn::emulator {

constexpr int kWarpSize = 32;
constexpr int kMaxThreads = 1024;

/// The program of one thread; the parameters are 8 bytes each.
using Kernel = void (*)(const uint64_t *parameters);

struct Launch {
  Kernel kernel = nullptr;
  std::vector<uint64_t> parameters;
  int64_t programs = 0;
  /// CTAs of a program, which are one cluster.
  int cluster = 1;
  /// Threads of a CTA: a multiple of 32, at most 1024.
  int threads = 0;
  uint32_t sharedBytes = 0;
  /// All that the kernel may access.
  std::vector<MemoryRange> memory;
  Chip chip = getChips()[0];
  /// Programs that run at a time; 0 for one on each processor of the host.
  unsigned hostThreads = 0;
  /// A thread that accesses memory this often without meeting others is stuck in a loop.
  uint64_t accessLimit = uint64_t(1) << 28;
  /// Begins programs after one with findings, too.
  bool keepGoing = false;
};

struct Outcome {
  /// Empty if all is well. After a first program with findings no others are begun, unless the
  /// launch keeps going.
  std::vector<Finding> findings;
  Counters counters;
};

Outcome run(const Launch &launch);

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_EMULATOR_H

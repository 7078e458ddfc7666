//===- Peak.cpp - multiply-adds per second of this machine ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Peak.h"
#include <chrono>

#if defined(__AVX512F__)
typedef float Vector __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float Vector __attribute__((vector_size(32)));
#else
typedef float Vector __attribute__((vector_size(16)));
#endif

// Read at run time, so that the compiler cannot know what the sums will be.
static volatile float factorSource = 0.999f, addendSource = 1e-9f, sink;

double polyattn::bench::measurePeak(double seconds) {
  using Clock = std::chrono::steady_clock;
  // Latency 4, two ports: eight at least; no more than fit the registers with two operands.
  constexpr int kSums = 12, kLanes = sizeof(Vector) / sizeof(float);
  constexpr long kIterations = 20000;
  Vector factor = Vector{} + factorSource, addend = Vector{} + addendSource, sums[kSums];
  for (int s = 0; s < kSums; ++s)
    sums[s] = addend * float(s);
  // The best of short slices: a slice in which the scheduler took the core away says nothing
  // about the machine.
  double best = 0;
  auto begin = Clock::now(), now = begin;
  do {
    auto start = now;
    for (long i = 0; i < kIterations; ++i) {
#pragma clang loop unroll(full)
      for (int s = 0; s < kSums; ++s)
        sums[s] = sums[s] * factor + addend;
    }
    now = Clock::now();
    double rate =
        2.0 * kIterations * kSums * kLanes / std::chrono::duration<double>(now - start).count();
    best = rate > best ? rate : best;
  } while (std::chrono::duration<double>(now - begin).count() < seconds);
  for (int s = 1; s < kSums; ++s)
    sums[0] += sums[s];
  sink = sums[0][0];
  return best;
}

//===- PeakFlops.cpp - what the machine can do ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeakFlops.h"
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace {

// Two ports of four cycles' latency need eight sums in flight; twelve leave a margin, and with
// the two constants still fit sixteen registers.
constexpr int kSums = 12;
constexpr int64_t kIterations = 4096;

volatile float factorSource = 0.999f, addendSource = 0.001f, sink;

template <int Bytes> struct VectorOf {
  typedef float Type __attribute__((vector_size(Bytes)));
};

/// The loop, inlined into functions that allow one instruction set each. Returns its operations.
template <int Bytes> __attribute__((always_inline)) inline double multiplyAdd() {
  using Vector = typename VectorOf<Bytes>::Type;
  Vector factor, addend, sums[kSums];
  for (unsigned lane = 0; lane < Bytes / sizeof(float); ++lane) {
    factor[lane] = factorSource;
    addend[lane] = addendSource;
  }
  for (int s = 0; s < kSums; ++s)
    sums[s] = addend * float(s);
  for (int64_t i = 0; i < kIterations; ++i) {
#pragma clang loop unroll(full)
    for (int s = 0; s < kSums; ++s)
      sums[s] = sums[s] * factor + addend; // contracted to one instruction
  }
  for (int s = 1; s < kSums; ++s)
    sums[0] += sums[s];
  sink = sums[0][0];
  constexpr int lanes = Bytes / sizeof(float);
  return 2.0 * kIterations * kSums * lanes;
}

double genericLoop() { return multiplyAdd<16>(); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double avx2Loop() { return multiplyAdd<32>(); }
__attribute__((target("avx512f,fma"))) double avx512Loop() { return multiplyAdd<64>(); }
#endif

struct PeakLoop {
  const char *name;
  double (*run)();
};

PeakLoop choosePeakLoop(int64_t lanes) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (lanes >= 16 && __builtin_cpu_supports("avx512f"))
    return {"avx512", avx512Loop};
  if (lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"avx2", avx2Loop};
#endif
  return {"generic", genericLoop};
}

} // namespace

const char *polyattn::driver::peakInstructionSet(int64_t lanes) {
  return choosePeakLoop(lanes).name;
}

double polyattn::driver::measurePeakFlops(int threads, double seconds, int64_t lanes) {
  using Clock = std::chrono::steady_clock;
  const PeakLoop loop = choosePeakLoop(lanes);
  std::atomic<int> waiting{threads};
  std::vector<double> rates(threads);
  auto work = [&](int thread) {
    loop.run(); // wakes the wide units
    --waiting;
    while (waiting > 0)
      std::this_thread::yield();
    double flops = 0, elapsed = 0;
    auto start = Clock::now();
    do {
      flops += loop.run();
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < seconds);
    rates[thread] = flops / elapsed;
  };
  std::vector<std::thread> pool;
  for (int thread = 1; thread < threads; ++thread)
    pool.emplace_back(work, thread);
  work(0);
  for (std::thread &thread : pool)
    thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

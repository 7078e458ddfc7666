//===- MultiplyLoops.cpp - how fast this processor multiplies -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MultiplyLoops.h"
#include <algorithm>
#include <chrono>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace polyattn;

/// Independent chains of sums. Two ports with a latency of six cycles, as products of pairs have on
/// Zen 5, need twelve. With the two constants these still fit sixteen registers.
static constexpr int kSums = 12;
static constexpr int64_t kIterations = 4096;

// Nothing is known about the operands, and the sums are used.
static volatile float factorSource = 0.999f, addendSource = 0.001f, sink;

namespace {
template <int Bytes> struct VectorOf {
  typedef float Type __attribute__((vector_size(Bytes)));
};
} // namespace

/// Inlined into functions for one instruction set each.
template <int Bytes> __attribute__((always_inline)) static inline double multiplyAdd() {
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

static double genericLoop() { return multiplyAdd<16>(); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double avx2Loop() { return multiplyAdd<32>(); }
__attribute__((target("avx512f,fma"))) static double avx512Loop() { return multiplyAdd<64>(); }

__attribute__((target("avx512f,avx512bf16"))) static double avx512BF16Loop() {
  __m512 addend = _mm512_set1_ps(addendSource), sums[kSums];
  __m512bh a = _mm512_cvtne2ps_pbh(addend, addend), b = a;
  for (int s = 0; s < kSums; ++s)
    sums[s] = _mm512_mul_ps(addend, _mm512_set1_ps(float(s)));
  for (int64_t i = 0; i < kIterations; ++i) {
#pragma clang loop unroll(full)
    for (int s = 0; s < kSums; ++s)
      sums[s] = _mm512_dpbf16_ps(sums[s], a, b);
  }
  for (int s = 1; s < kSums; ++s)
    sums[0] = _mm512_add_ps(sums[0], sums[s]);
  sink = _mm512_reduce_add_ps(sums[0]);
  constexpr int lanes = 16;
  return 4.0 * kIterations * kSums * lanes;
}
#endif

MultiplyLoop polyattn::f32Loop(int64_t lanes) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (lanes >= 16 && __builtin_cpu_supports("avx512f"))
    return {"avx512", avx512Loop};
  if (lanes >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"avx2", avx2Loop};
#endif
  return {"generic", genericLoop};
}

std::optional<MultiplyLoop> polyattn::bf16PairsLoop() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16"))
    return MultiplyLoop{"avx512bf16", avx512BF16Loop};
#endif
  return std::nullopt;
}

/// Operations in a second.
static double rateOf(const MultiplyLoop &loop) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  double operations = loop.run();
  return operations / std::chrono::duration<double>(Clock::now() - start).count();
}

double polyattn::measureBF16Gain() {
  std::optional<MultiplyLoop> pairs = bf16PairsLoop();
  if (!pairs)
    return 0;
  MultiplyLoop f32 = f32Loop(16);
  // In turns, the best of each: others may take the processor away meanwhile.
  constexpr int turns = 40;
  double bestOfPairs = 0, bestOfF32 = 0;
  for (int i = 0; i < turns; ++i) {
    bestOfF32 = std::max(bestOfF32, rateOf(f32));
    bestOfPairs = std::max(bestOfPairs, rateOf(*pairs));
  }
  return bestOfPairs / bestOfF32;
}

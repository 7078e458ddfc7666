//===- Exp.h - an exponential that vectorizes -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_SOFTMAX_EXP_H
#define POLYATTN_BENCHMARKS_SOFTMAX_EXP_H

#include <cstdint>
#include <cstring>

namespace polyattn::bench {

/// e^x for x <= 0 to about 2e-7. Straight-line code, so that loops over it become vector code;
/// libm's exp would be a call per element.
inline float expOfNegative(float x) {
  x = x > -87.0f ? x : -87.0f;
  // Adding 1.5 2^23 rounds to the nearest integer, which is then in the low bits.
  float shifted = x * 1.44269504f + 12582912.0f;
  float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  uint32_t bits, exponent;
  std::memcpy(&bits, &p, 4);
  std::memcpy(&exponent, &shifted, 4);
  bits += exponent << 23;
  std::memcpy(&p, &bits, 4);
  return p;
}

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_SOFTMAX_EXP_H

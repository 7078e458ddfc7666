//===- Formats.h - the number formats of a GPU, in software -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_FORMATS_H
#define POLYATTN_RUNTIME_EMULATOR_FORMATS_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace polyattn::emulator {

inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float floatOfBF16(uint16_t bits) { return floatOfBits(uint32_t(bits) << 16); }

/// To nearest even.
inline uint16_t bf16OfFloat(float value) {
  uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (bits >> 16) | 0x40; // a quiet NaN
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float floatOfF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) // infinity and NaN
    return floatOfBits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x400) { // subnormal: a multiple of 2^-24
    float value = float(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
  return floatOfBits(sign | ((magnitude << 13) + 0x38000000));
}

/// To nearest even.
inline uint16_t f16OfFloat(float value) {
  uint32_t bits = bitsOfFloat(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= bitsOfFloat(65536.0f))
    return sign | 0x7c00;
  // The last place of 0.5 is that of subnormal numbers: the sum rounds as they do.
  if (magnitude < bitsOfFloat(0x1p-14f))
    return sign | (bitsOfFloat(floatOfBits(magnitude) + 0.5f) - bitsOfFloat(0.5f));
  return sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
}

/// Toward zero; what is beyond the largest float is infinite.
inline float truncateToFloat(double value) {
  float nearest = float(value);
  uint32_t bits = bitsOfFloat(nearest);
  bool isFinite = (bits & 0x7f800000) != 0x7f800000;
  bool isBeyond = std::fabs(double(nearest)) > std::fabs(value);
  return floatOfBits(bits - uint32_t(isFinite & isBeyond));
}

/// What tensor cores see of an f32.
inline float truncateToTF32(float value) { return floatOfBits(bitsOfFloat(value) & ~0x1fffu); }

/// To nearest, ties away from zero.
inline float roundToTF32(float value) {
  uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7f800000) == 0x7f800000)
    return value;
  return floatOfBits((bits + 0x1000) & ~0x1fffu);
}

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_FORMATS_H

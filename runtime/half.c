/*===- half.c - f16 for processors that do not convert it -----------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Where a processor has no instruction for it, generated code calls functions of the compiler's own
 * library. A process has these where its programs needed them, under names that a library opened
 * with RTLD_LOCAL does not show; so kernels bring their own. */
#include "runtime.h"

#include <string.h>

#if defined(__x86_64__)

static float extend_half(_Float16 value) {
  uint16_t half;
  memcpy(&half, &value, sizeof half);
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff, bits;
  if (magnitude >= 0x7c00) { /* infinite, or NaN, which becomes quiet */
    bits = 0x7f800000 | (magnitude & 0x3ff) << 13;
    if (magnitude > 0x7c00)
      bits |= 0x400000;
  } else if (magnitude >= 0x400) {
    bits = (magnitude << 13) + ((127u - 15u) << 23);
  } else { /* subnormal: a whole number times 2^-24 */
    float number = (float)(int32_t)magnitude * 0x1p-24f;
    memcpy(&bits, &number, sizeof bits);
  }
  bits |= sign;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

static _Float16 truncate_half(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, half;
  if (magnitude > 0x7f800000) {
    half = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude >= 0x477ff000) { /* at least halfway from 65504 to 2^16 */
    half = 0x7c00;
  } else if (magnitude >= 0x38800000) { /* to nearest, ties to even */
    uint32_t rest = magnitude - ((127u - 15u) << 23);
    half = (rest + 0xfff + (rest >> 13 & 1)) >> 13;
  } else { /* the sum's last place is 2^-24, the smallest f16 */
    float number;
    memcpy(&number, &magnitude, sizeof number);
    number += 0.5f;
    memcpy(&half, &number, sizeof half);
    half -= 0x3f000000;
  }
  half |= sign;
  uint16_t narrow = (uint16_t)half;
  _Float16 result;
  memcpy(&result, &narrow, sizeof result);
  return result;
}

const polyattn_rt_named_function polyattn_rt_half_functions[2] = {
    {"__extendhfsf2", (void (*)(void))extend_half},
    {"__truncsfhf2", (void (*)(void))truncate_half}};

#if defined(POLYATTN_RT_EMBEDDED)
/* Only a kernel's own library defines the names themselves, and hides them.
 * NOLINTBEGIN(bugprone-reserved-identifier): code generators call these names. */
float __extendhfsf2(_Float16 value);
_Float16 __truncsfhf2(float value);
float __extendhfsf2(_Float16 value) { return extend_half(value); }
_Float16 __truncsfhf2(float value) { return truncate_half(value); }
/* NOLINTEND(bugprone-reserved-identifier) */
#endif

#else

const polyattn_rt_named_function polyattn_rt_half_functions[2] = {{0, 0}, {0, 0}};

#endif

/*===- sizes.h - sizes that have a name -------------------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* C99. Where a tensor is described, a size below zero is one of these. */
#ifndef POLYATTN_SIZES_H
#define POLYATTN_SIZES_H

#include <stdint.h>

/* Sizes that the caller's tensors decide: all that use a name agree on its value.
 * POLYATTN_SIZE_HKV divides POLYATTN_SIZE_H. */
enum polyattn_size {
  POLYATTN_SIZE_B = -1,   /* batch */
  POLYATTN_SIZE_T = -2,   /* positions of the queries */
  POLYATTN_SIZE_TK = -3,  /* positions of the keys, where they may differ */
  POLYATTN_SIZE_H = -4,   /* query heads */
  POLYATTN_SIZE_HKV = -5, /* key heads, or those of sequences that heads share */
  POLYATTN_SIZE_L = -6,   /* rows of tables of positions, where positions do not begin at 0 */
  POLYATTN_SIZE_P = -7,   /* slots of a pool of states */
  POLYATTN_SIZE_N = -8,   /* packed sequences */
  POLYATTN_SIZE_N1 = -9   /* N + 1, where they begin and end */
};
/* How many they are: POLYATTN_SIZE_B is the first of them, POLYATTN_SIZE_N1 the last. */
#define POLYATTN_NAMED_SIZES 9

/* "B", "Hkv", ...; null for a size without a name. */
static inline const char *polyattn_size_name(int64_t size) {
  /* The last one is null. */
  static const char *const names[POLYATTN_NAMED_SIZES + 1] = {"B", "T", "Tk", "H",  "Hkv",
                                                              "L", "P", "N",  "N+1"};
  return names[size < 0 && size >= -POLYATTN_NAMED_SIZES ? -1 - size : POLYATTN_NAMED_SIZES];
}

#endif /* POLYATTN_SIZES_H */

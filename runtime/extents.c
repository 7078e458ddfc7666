/*===- extents.c - sizes that a launch decides ----------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "plan.h"

/* No memory has more. Such a number of bytes can still be rounded up. */
#define MAX_WORKSPACE_BYTES (INT64_MAX / 4)

static int64_t base_of(const polyattn_rt_extent *extent, const polyattn_rt_launch *launch) {
  switch (extent->base) {
  case POLYATTN_RT_DIMENSION:
    return launch->sizes[extent->tensor][extent->dimension];
  case POLYATTN_RT_SEGMENTS:
    return launch->segments;
  case POLYATTN_RT_SPLITS:
    return launch->splits;
  case POLYATTN_RT_PARTS:
    return launch->parts;
  default: /* a number, which is what is added */
    return 0;
  }
}

int64_t polyattn_rt_extent_value(const polyattn_rt_extent *extent,
                                 const polyattn_rt_launch *launch) {
  int64_t sum, value;
  if (__builtin_add_overflow(base_of(extent, launch), extent->plus, &sum))
    return -1;
  if (sum < 0)
    sum = 0;
  /* A division takes as long as all else here, and few sizes have one. */
  value = extent->divisor == 1 ? sum : sum / extent->divisor + (sum % extent->divisor != 0);
  return __builtin_mul_overflow(value, extent->times, &value) ? -1 : value;
}

int64_t polyattn_rt_count_extents(const polyattn_rt_extent *extents, int64_t count,
                                  const polyattn_rt_launch *launch) {
  int64_t product = 1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = polyattn_rt_extent_value(&extents[i], launch);
    if (value < 0 || __builtin_mul_overflow(product, value, &product))
      return -1;
    /* Most calls are not cut, and their workspaces begin with a size of zero. */
    if (product == 0)
      return 0;
  }
  return product;
}

int64_t polyattn_rt_count_programs(const polyattn_rt_stage_rule *stage,
                                   const polyattn_rt_launch *launch) {
  return polyattn_rt_count_extents(stage->programs, stage->num_programs, launch);
}

int polyattn_rt_is_of_splits(const polyattn_rt_workspace_rule *workspace) {
  return workspace->rank > 0 && workspace->sizes[0].base == POLYATTN_RT_SPLITS;
}

int64_t polyattn_rt_workspace_bytes(const polyattn_rt_workspace_rule *workspace,
                                    const polyattn_rt_launch *launch) {
  if (polyattn_rt_is_of_splits(workspace) && launch->splits < 2)
    return 0;
  int64_t bytes = polyattn_rt_count_extents(workspace->sizes, workspace->rank, launch);
  int64_t width = polyattn_dtype_bytes((int32_t)workspace->dtype);
  if (bytes < 0 || __builtin_mul_overflow(bytes, width, &bytes) || bytes > MAX_WORKSPACE_BYTES)
    return -1;
  return bytes;
}

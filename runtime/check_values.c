/*===- check_values.c - what slots, lengths, offsets and positions may be -===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>

static int64_t element(const polyattn_tensor *vector, int64_t i) {
  i *= vector->strides[0];
  return vector->dtype == POLYATTN_I64 ? ((const int64_t *)vector->data)[i]
                                       : ((const int32_t *)vector->data)[i];
}

/* Slots are rows of the pools, each once, or below zero. */
static int check_slots(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                       const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  enum { FEW = 4096 };
  if (!kernel->slots)
    return 0;
  const polyattn_tensor *slots = tensors[kernel->slots - 1];
  const polyattn_rt_report where = {kernel, &kernel->tensors[kernel->slots - 1], error, error_size};
  int64_t rows = polyattn_rt_size(sizes, POLYATTN_SIZE_P), batches = slots->sizes[0];
  uint64_t few[FEW / 64] = {0}, *taken = few;
  for (int64_t batch = 0; batch < batches; ++batch)
    if (element(slots, batch) >= rows)
      return polyattn_rt_fail(
          &where, "expected a slot below P = %" PRId64 ", got %" PRId64 " for batch %" PRId64, rows,
          element(slots, batch), batch);
  if (rows > FEW && !(taken = calloc((size_t)rows / 64 + 1, sizeof *taken)))
    return polyattn_rt_fail(&where, "out of memory");
  int64_t twice = -1;
  for (int64_t batch = 0; batch < batches && twice < 0; ++batch) {
    int64_t slot = element(slots, batch);
    if (slot < 0)
      continue;
    uint64_t bit = (uint64_t)1 << (slot % 64);
    if (taken[slot / 64] & bit)
      twice = batch;
    taken[slot / 64] |= bit;
  }
  if (taken != few)
    free(taken);
  if (twice < 0)
    return 0;
  int64_t before = 0;
  while (element(slots, before) != element(slots, twice))
    ++before;
  return polyattn_rt_fail(&where,
                          "expected another slot than that of batch %" PRId64 ", got %" PRId64
                          " for batch %" PRId64,
                          before, element(slots, twice), twice);
}

static int check_lengths(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                         const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  if (!kernel->lengths)
    return 0;
  const polyattn_tensor *lengths = tensors[kernel->lengths - 1];
  const polyattn_rt_report where = {kernel, &kernel->tensors[kernel->lengths - 1], error,
                                    error_size};
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
  for (int64_t batch = 0; batch < lengths->sizes[0]; ++batch) {
    int64_t length = element(lengths, batch);
    if (length < 0 || length > positions)
      return polyattn_rt_fail(
          &where, "expected a length from 0 to T = %" PRId64 ", got %" PRId64 " for batch %" PRId64,
          positions, length, batch);
  }
  return 0;
}

/* Whether packed sequences follow one another and fill all positions. */
static int check_offsets(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                         const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  if (!kernel->offsets)
    return 0;
  const polyattn_tensor *offsets = tensors[kernel->offsets - 1];
  const polyattn_rt_report where = {kernel, &kernel->tensors[kernel->offsets - 1], error,
                                    error_size};
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
  int64_t rows = polyattn_rt_size(sizes, POLYATTN_SIZE_L);
  int64_t last = element(offsets, 0);
  if (last != 0)
    return polyattn_rt_fail(&where, "expected the first offset to be 0, got %" PRId64, last);
  for (int64_t i = 1; i < offsets->sizes[0]; ++i) {
    int64_t value = element(offsets, i);
    if (value < last)
      return polyattn_rt_fail(
          &where, "expected at least the offset before, %" PRId64 ", got %" PRId64 " at %" PRId64,
          last, value, i);
    if (rows >= 0 && value - last > rows)
      return polyattn_rt_fail(&where,
                              "expected sequences no longer than tables, L = %" PRId64
                              ", got %" PRId64 " positions in sequence %" PRId64,
                              rows, value - last, i - 1);
    last = value;
  }
  if (positions >= 0 && last != positions)
    return polyattn_rt_fail(&where, "expected the last offset to be T = %" PRId64 ", got %" PRId64,
                            positions, last);
  return 0;
}

/* Whether calls can begin where the entry's tensor says: kernels read tables of positions from
 * there on without a further look. Slots and lengths are as they should be. */
static int check_first(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                       const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  int64_t unit = kernel->first.unit;
  if (unit == 0)
    return 0;
  const polyattn_tensor *first = tensors[kernel->first.tensor];
  const polyattn_tensor *offsets = kernel->offsets ? tensors[kernel->offsets - 1] : NULL;
  const char *what = offsets ? "sequence" : "batch";
  const polyattn_rt_report where = {kernel, &kernel->tensors[kernel->first.tensor], error,
                                    error_size};
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
  int64_t keys = polyattn_rt_size(sizes, POLYATTN_SIZE_TK);
  int64_t rows = polyattn_rt_size(sizes, POLYATTN_SIZE_L);
  if (keys > positions)
    positions = keys;
  int64_t limit = rows >= 0 ? rows : POLYATTN_RT_MAX_POSITION;
  for (int64_t batch = 0; batch < first->sizes[0]; ++batch) {
    int64_t value = element(first, batch), length = positions;
    if (kernel->slots && element(tensors[kernel->slots - 1], batch) < 0)
      continue;
    if (kernel->lengths)
      length = element(tensors[kernel->lengths - 1], batch);
    if (offsets)
      length = element(offsets, batch + 1) - element(offsets, batch);
    if (value < 0)
      return polyattn_rt_fail(&where,
                              "expected a position of at least 0, got %" PRId64 " for %s %" PRId64,
                              value, what, batch);
    if (value % unit != 0)
      return polyattn_rt_fail(&where,
                              "expected a multiple of the local block, %" PRId64 ", got %" PRId64
                              " for %s %" PRId64,
                              unit, value, what, batch);
    if (length > limit)
      return polyattn_rt_fail(&where,
                              "expected tables of at least %" PRId64 " rows, they have L = %" PRId64
                              ", got %" PRId64 " for %s %" PRId64,
                              length, limit, value, what, batch);
    if (value > limit - length)
      return polyattn_rt_fail(
          &where,
          "expected at most %" PRId64 ", so that %" PRId64 " rows end within %s%" PRId64
          " positions, got %" PRId64 " for %s %" PRId64,
          limit - length, length, rows >= 0 ? "the tables' L = " : "", limit, value, what, batch);
  }
  return 0;
}

/* Whether sequences have no more positions than the limit of T: those of the call, and those before
 * where it continues them. Slots, lengths, offsets and positions are as they should be. */
static int check_sequences(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                           const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  int64_t most = kernel->limits[-POLYATTN_SIZE_T - 1].most;
  if (most == 0 || (!kernel->offsets && !kernel->slots))
    return 0;
  const polyattn_tensor *offsets = kernel->offsets ? tensors[kernel->offsets - 1] : NULL;
  const polyattn_tensor *slots = kernel->slots ? tensors[kernel->slots - 1] : NULL;
  bool counts_earlier = slots && kernel->first.unit != 0;
  int64_t count = offsets ? offsets->sizes[0] - 1 : slots->sizes[0];
  for (int64_t i = 0; i < count; ++i) {
    if (slots && element(slots, i) < 0)
      continue;
    int64_t length = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
    if (kernel->lengths)
      length = element(tensors[kernel->lengths - 1], i);
    if (offsets)
      length = element(offsets, i + 1) - element(offsets, i);
    if (counts_earlier)
      length += element(tensors[kernel->first.tensor], i);
    if (length > most)
      return polyattn_rt_fail_limit(kernel, POLYATTN_SIZE_T, length, offsets ? "sequence" : "batch",
                                    i, error, error_size);
  }
  return 0;
}

int polyattn_rt_check_values(const polyattn_rt_kernel *kernel,
                             const polyattn_tensor *const *tensors, const polyattn_rt_sizes *sizes,
                             char *error, size_t error_size) {
  return check_slots(kernel, tensors, sizes, error, error_size) ||
         check_lengths(kernel, tensors, sizes, error, error_size) ||
         check_offsets(kernel, tensors, sizes, error, error_size) ||
         check_first(kernel, tensors, sizes, error, error_size) ||
         check_sequences(kernel, tensors, sizes, error, error_size);
}

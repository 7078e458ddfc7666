/*===- states.c - states of segments that follow each other ---------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "states.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct report {
  char *error;
  size_t size;
  const char *argument;
} report;

static int fail(const report *where, const char *format, ...) {
  va_list arguments;
  int used;
  if (!where->error || where->size == 0)
    return 1;
  used = snprintf(where->error, where->size, "state_combine: argument '%s': ", where->argument);
  if (used >= 0 && (size_t)used < where->size) {
    va_start(arguments, format);
    vsnprintf(where->error + used, where->size - (size_t)used, format, arguments);
    va_end(arguments);
  }
  return 1;
}

/* What a tensor says of itself, without looking at others. */
static int check_alone(const report *where, const polyattn_tensor *tensor) {
  const char *dtype = polyattn_dtype_name(tensor->dtype);
  int64_t count = 1;
  if (tensor->dtype != POLYATTN_F32)
    return fail(where, "expected f32, got %s", dtype ? dtype : "an unknown element type");
  if (tensor->rank < 2 || tensor->rank > POLYATTN_MAX_RANK)
    return fail(where, "expected 2 to %d dimensions [B, H, ...], got %d", POLYATTN_MAX_RANK,
                (int)tensor->rank);
  for (int32_t i = 0; i < tensor->rank; ++i) {
    if (tensor->sizes[i] < 0)
      return fail(where, "expected sizes of at least 0, got %" PRId64 " in dimension %d",
                  tensor->sizes[i], (int)i);
    if (__builtin_mul_overflow(count, tensor->sizes[i] ? tensor->sizes[i] : 1, &count) ||
        count > INT64_MAX / (int64_t)sizeof(float))
      return fail(where, "expected sizes whose product fits in memory");
  }
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes[i] == 0)
      return 0;
  if (!tensor->data)
    return fail(where, "expected memory, got a null pointer");
  if ((uintptr_t)tensor->data % sizeof(float))
    return fail(where, "expected memory aligned to %d bytes", (int)sizeof(float));
  return 0;
}

static int check_same_sizes(const report *where, const polyattn_tensor *tensor,
                            const polyattn_tensor *state) {
  if (tensor->rank != state->rank)
    return fail(where, "expected %d dimensions, as 'before' has, got %d", (int)state->rank,
                (int)tensor->rank);
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes[i] != state->sizes[i])
      return fail(where, "expected size %" PRId64 " in dimension %d, as 'before' has, got %" PRId64,
                  state->sizes[i], (int)i, tensor->sizes[i]);
  return 0;
}

/* [B, H], with dimensions of 1 behind it or none. */
static int check_decay(const report *where, const polyattn_tensor *decay,
                       const polyattn_tensor *state) {
  for (int32_t i = 0; i < decay->rank; ++i) {
    int64_t expected = i < 2 ? state->sizes[i] : 1;
    if (decay->sizes[i] != expected)
      return fail(where, "expected size %" PRId64 " in dimension %d, got %" PRId64, expected,
                  (int)i, decay->sizes[i]);
  }
  return 0;
}

static bool is_empty(const polyattn_tensor *tensor) {
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes[i] == 0)
      return true;
  return false;
}

/* The bytes that a tensor lies in; false where no memory can be so large. */
static bool span_of(const polyattn_tensor *tensor, uintptr_t *begin, uintptr_t *end) {
  int64_t below = 0, above = 0, bytes = sizeof(float), way;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    int64_t *side = tensor->strides[i] < 0 ? &below : &above;
    if (__builtin_mul_overflow(tensor->sizes[i] - 1, tensor->strides[i], &way) ||
        __builtin_mul_overflow(way, bytes, &way) || __builtin_add_overflow(*side, way, side))
      return false;
  }
  *begin = (uintptr_t)tensor->data + (uintptr_t)below;
  *end = (uintptr_t)tensor->data + (uintptr_t)above;
  return *begin <= (uintptr_t)tensor->data && *end >= (uintptr_t)tensor->data &&
         !__builtin_add_overflow(*end, (uintptr_t)bytes, end);
}

/* Elements of a result lie apart: each row behind the ones before it. */
static int check_rows(const report *where, const polyattn_tensor *result) {
  int64_t extent = 1;
  for (int32_t i = result->rank; i-- > 0;) {
    if (result->sizes[i] == 1)
      continue;
    if (result->strides[i] < extent)
      return fail(where, "expected strides of a row-major tensor, got %" PRId64 " in dimension %d",
                  result->strides[i], (int)i);
    if (__builtin_mul_overflow(result->sizes[i], result->strides[i], &extent))
      return fail(where, "expected strides within memory");
  }
  return 0;
}

/* Where an element is read before it is written: in the same place, or in none of the result's. */
static int check_overlap(const report *where, const polyattn_tensor *tensor,
                         const polyattn_tensor *result, bool may_be_same) {
  uintptr_t begin, end, result_begin, result_end;
  bool is_same = may_be_same && tensor->data == result->data;
  if (!span_of(tensor, &begin, &end) || !span_of(result, &result_begin, &result_end))
    return fail(where, "expected strides within memory");
  for (int32_t i = 0; is_same && i < tensor->rank; ++i)
    is_same = tensor->sizes[i] == 1 || tensor->strides[i] == result->strides[i];
  if (!is_same && begin < result_end && result_begin < end)
    return fail(where, "shares memory with the result, and not element by element");
  return 0;
}

static int check(const polyattn_tensor *before, const polyattn_tensor *decay,
                 const polyattn_tensor *after, const polyattn_tensor *result, char *error,
                 size_t error_size) {
  const polyattn_tensor *tensors[] = {before, decay, after, result};
  static const char *const names[] = {"before", "decay", "after", "result"};
  for (int i = 0; i < 4; ++i) {
    report where = {error, error_size, names[i]};
    if (!tensors[i] && (i == 0 || i == 3))
      return fail(&where, "expected a tensor, got a null pointer");
    if (tensors[i] && check_alone(&where, tensors[i]))
      return 1;
    if (tensors[i] && (i == 1 ? check_decay(&where, decay, before)
                              : check_same_sizes(&where, tensors[i], before)))
      return 1;
  }
  if (is_empty(before))
    return 0;
  for (int i = 0; i < 4; ++i) {
    report where = {error, error_size, names[i]};
    if (tensors[i] &&
        (i == 3 ? check_rows(&where, result) : check_overlap(&where, tensors[i], result, i != 1)))
      return 1;
  }
  return 0;
}

static int64_t offset_of(const polyattn_tensor *tensor, const int64_t *index, int32_t rank) {
  int64_t offset = 0;
  for (int32_t i = 0; i < rank; ++i)
    offset += index[i] * tensor->strides[i];
  return offset;
}

/* One row. The product of two f32 is exact in f64, so that an element is rounded as if once. */
static void combine_row(const float *before, int64_t before_stride, double decay,
                        const float *after, int64_t after_stride, float *result, int64_t stride,
                        int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double sum = after ? (double)after[i * after_stride] : 0;
    /* What does not pass does not pass, be it infinite. */
    if (decay != 0)
      sum += decay * (double)before[i * before_stride];
    result[i * stride] = (float)sum;
  }
}

int polyattn_rt_combine_states(const polyattn_tensor *before, const polyattn_tensor *decay,
                               const polyattn_tensor *after, const polyattn_tensor *result,
                               char *error, size_t error_size) {
  int64_t index[POLYATTN_MAX_RANK] = {0};
  int32_t last;
  if (check(before, decay, after, result, error, error_size))
    return 1;
  if (is_empty(before))
    return 0;
  last = before->rank - 1;
  for (;;) {
    int32_t outer = last - 1;
    /* Of a state [B, H] each element has a decay of its own. */
    int64_t count = last == 1 ? 1 : before->sizes[last];
    int32_t rank = last == 1 ? 2 : last;
    double factor = decay ? (double)((const float *)decay->data)[offset_of(decay, index, 2)] : 1.0;
    combine_row((const float *)before->data + offset_of(before, index, rank), before->strides[last],
                factor, after ? (const float *)after->data + offset_of(after, index, rank) : NULL,
                after ? after->strides[last] : 0,
                (float *)result->data + offset_of(result, index, rank), result->strides[last],
                count);
    if (last == 1)
      outer = 1;
    while (outer >= 0 && ++index[outer] == before->sizes[outer])
      index[outer--] = 0;
    if (outer < 0)
      return 0;
  }
}

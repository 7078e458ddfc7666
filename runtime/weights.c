/*===- weights.c - weights that do not lie row by row ---------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Compiled code reads rows of consecutive elements. A weight may lie in any other way, as that of
 * a linear layer, which is the transposed one: a call reads weights as a whole anyway, so it copies
 * those first. Sequences, states and tables of positions are too large for that. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int polyattn_rt_is_weight(const polyattn_rt_tensor_rule *rule) {
  if (rule->is_result)
    return 0;
  for (int64_t i = 0; i < rule->rank; ++i)
    if (rule->sizes[i] == POLYATTN_SIZE_B || rule->sizes[i] == POLYATTN_SIZE_T ||
        rule->sizes[i] == POLYATTN_SIZE_TK || rule->sizes[i] == POLYATTN_SIZE_P ||
        rule->sizes[i] == POLYATTN_SIZE_L)
      return 0;
  return 1;
}

int polyattn_rt_has_rows(const polyattn_tensor *tensor) {
  int32_t innermost = tensor->rank - 1;
  return tensor->rank == 0 || tensor->sizes[innermost] <= 1 || tensor->strides[innermost] == 1;
}

/* The bytes of a weight's dense copy, rounded up to a cache line; 0 where no copy is needed, -1
 * where they overflow. */
static int64_t copy_bytes(const polyattn_tensor *tensor) {
  int64_t bytes = polyattn_dtype_bytes(tensor->dtype);
  if (polyattn_rt_has_rows(tensor))
    return 0;
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes[i] == 0)
      return 0;
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (__builtin_mul_overflow(bytes, tensor->sizes[i], &bytes))
      return -1;
  return bytes > INT64_MAX - 63 ? -1 : polyattn_rt_round_up(bytes);
}

static void copy_row(char *to, const char *from, int64_t count, int64_t step, size_t bytes) {
  for (int64_t i = 0; i < count; ++i)
    memcpy(to + i * (int64_t)bytes, from + i * step, bytes);
}

/* Copies row after row; `index` counts through the dimensions outside of the rows. */
static void copy(const polyattn_tensor *tensor, char *to) {
  int64_t bytes = polyattn_dtype_bytes(tensor->dtype);
  int32_t innermost = tensor->rank - 1, dimension;
  int64_t count = tensor->sizes[innermost], step = tensor->strides[innermost] * bytes;
  int64_t index[POLYATTN_MAX_RANK] = {0}, offset = 0;
  do {
    const char *from = (const char *)tensor->data + offset * bytes;
    switch (bytes) {
    case 2:
      copy_row(to, from, count, step, 2);
      break;
    case 4:
      copy_row(to, from, count, step, 4);
      break;
    default:
      copy_row(to, from, count, step, (size_t)bytes);
    }
    to += count * bytes;
    for (dimension = innermost - 1; dimension >= 0; --dimension) {
      offset += tensor->strides[dimension];
      if (++index[dimension] < tensor->sizes[dimension])
        break;
      offset -= tensor->strides[dimension] * tensor->sizes[dimension];
      index[dimension] = 0;
    }
  } while (dimension >= 0);
}

int polyattn_rt_copy_weights(const polyattn_rt_kernel *kernel,
                             const polyattn_tensor *const *tensors, polyattn_rt_memref *descriptors,
                             void **memory, char *error, size_t error_size) {
  int64_t all = 0;
  *memory = NULL;
  for (int64_t i = 0; i < kernel->num_tensors; ++i) {
    int64_t own = polyattn_rt_is_weight(&kernel->tensors[i]) ? copy_bytes(tensors[i]) : 0;
    if (own < 0 || __builtin_add_overflow(all, own, &all)) {
      snprintf(error, error_size,
               "%s: argument '%s': no memory for a copy with an innermost "
               "stride of 1",
               kernel->name, kernel->tensors[i].name);
      return 1;
    }
  }
  if (all == 0)
    return 0;
  char *copies = *memory = aligned_alloc(64, (size_t)all);
  if (!copies) {
    snprintf(error, error_size, "%s: no memory for copies with an innermost stride of 1 of weights",
             kernel->name);
    return 1;
  }
  for (int64_t i = 0; i < kernel->num_tensors; ++i) {
    int64_t own = polyattn_rt_is_weight(&kernel->tensors[i]) ? copy_bytes(tensors[i]) : 0;
    if (own == 0)
      continue;
    copy(tensors[i], copies);
    polyattn_rt_describe_dense(copies, tensors[i]->rank, 0, tensors[i]->sizes, &descriptors[i]);
    copies += own;
  }
  return 0;
}

/*===- memref.c - tensors and sizes as compiled code has them -----------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "runtime.h"

void polyattn_rt_describe(const polyattn_tensor *tensor, polyattn_rt_memref *memref) {
  memref->allocated = tensor->data;
  memref->aligned = tensor->data;
  memref->offset = 0;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    memref->dimensions[i] = tensor->sizes[i];
    memref->dimensions[tensor->rank + i] = tensor->strides[i];
  }
}

void polyattn_rt_describe_dense(void *data, int64_t rank, int64_t shared, const int64_t *sizes,
                                polyattn_rt_memref *memref) {
  int64_t stride = 1;
  memref->allocated = memref->aligned = data;
  memref->offset = 0;
  for (int64_t i = rank; i-- > 0;) {
    memref->dimensions[i] = sizes[i];
    memref->dimensions[rank + i] = i < shared ? 0 : stride;
    /* The shared dimensions may count more elements than there is memory for. */
    if (i >= shared)
      stride *= sizes[i];
  }
}

int64_t polyattn_rt_size(const polyattn_rt_sizes *sizes, int64_t size_or_name) {
  return size_or_name < 0 ? sizes->values[-size_or_name - 1] : size_or_name;
}

int64_t polyattn_rt_round_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

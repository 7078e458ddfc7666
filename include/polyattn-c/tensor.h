/*===- tensor.h - how a caller describes a tensor ---------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* C99. The compiler copies this text into the header of every shared library
 * that it writes, so it includes nothing of the project; the guard lets several such
 * headers meet in one file. */
#ifndef POLYATTN_TENSOR_H
#define POLYATTN_TENSOR_H

#include <stddef.h>
#include <stdint.h>

/* The most sizes that a tensor has. */
#define POLYATTN_MAX_RANK 6

/* Version of the structs and functions by which compiled code is called: polyattn_tensor,
 * polyattn_call_options and the functions of a library. Programs and libraries of one version fit
 * together. */
#define POLYATTN_ABI_VERSION 1

/* Element types. No kernel stores f64; the reference implementation does. */
enum polyattn_dtype {
  POLYATTN_F32 = 1,  /* IEEE 754 binary32 */
  POLYATTN_F16 = 2,  /* IEEE 754 binary16 */
  POLYATTN_BF16 = 3, /* the upper half of an f32 */
  POLYATTN_I32 = 4,  /* whole numbers: slots, offsets, first positions */
  POLYATTN_I64 = 5,  /* whole numbers: first positions */
  POLYATTN_F64 = 6   /* IEEE 754 binary64 */
};

/* "f32", "bf16", ...; null for a number that is no element type. */
static inline const char *polyattn_dtype_name(int32_t dtype) {
  /* The last one is null. */
  static const char *const names[POLYATTN_F64 + 1] = {"f32", "f16", "bf16", "i32", "i64", "f64"};
  return names[dtype >= POLYATTN_F32 && dtype <= POLYATTN_F64 ? dtype - 1 : POLYATTN_F64];
}

/* What an element takes; 0 for a number that is no element type. */
static inline int64_t polyattn_dtype_bytes(int32_t dtype) {
  static const int64_t bytes[POLYATTN_F64 + 1] = {0, 4, 2, 2, 4, 8, 8};
  return bytes[dtype >= POLYATTN_F32 && dtype <= POLYATTN_F64 ? dtype : 0];
}

/* A view of the caller's memory; polyattn never owns or keeps it.
 * Element (i0, i1, ...) lies at data + i0 * strides[0] + i1 * strides[1] + ..., counted in
 * elements. The innermost stride is 1; weights, which are arguments without a size B, T, Tk or L,
 * may have any, for instance that of a transposed one, and are then copied in each call (on
 * processors; calls on GPUs refuse them). An input may repeat itself (stride 0) or run
 * backwards (negative strides); no two elements of a result may share memory, and
 * results share none with other tensors. */
typedef struct polyattn_tensor {
  void *data;                         /* element (0, 0, ...) */
  int32_t rank;                       /* how many sizes and strides count */
  int32_t dtype;                      /* a polyattn_dtype */
  int64_t sizes[POLYATTN_MAX_RANK];   /* elements along each dimension */
  int64_t strides[POLYATTN_MAX_RANK]; /* from one to the next, in elements */
} polyattn_tensor;

/* A dense row-major view. */
static inline polyattn_tensor polyattn_dense(void *data, int32_t dtype, int32_t rank,
                                             const int64_t *sizes) {
  polyattn_tensor tensor;
  int64_t stride = 1;
  int32_t i;
  tensor.data = data;
  tensor.rank = rank;
  tensor.dtype = dtype;
  for (i = 0; i < POLYATTN_MAX_RANK; ++i)
    tensor.sizes[i] = tensor.strides[i] = 0;
  for (i = rank < POLYATTN_MAX_RANK ? rank : POLYATTN_MAX_RANK; i-- > 0;) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = stride;
    stride *= sizes[i] > 0 ? sizes[i] : 1;
  }
  return tensor;
}

#endif /* POLYATTN_TENSOR_H */

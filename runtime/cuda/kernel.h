/*===- kernel.h - a kernel on a GPU -----------------------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#ifndef POLYATTN_RUNTIME_CUDA_KERNEL_H
#define POLYATTN_RUNTIME_CUDA_KERNEL_H

#include "device.h"
#include "polyattn-c/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLYATTN_CUDA_MAX_PARAMETERS 256
#define POLYATTN_CUDA_MAX_HIDDEN 32
/* Of the workspace, in bytes: what the allocators of the driver and of frameworks give. */
#define POLYATTN_CUDA_WORKSPACE_ALIGNMENT 128

enum {
  POLYATTN_CUDA_POINTER, /* of the tensor */
  POLYATTN_CUDA_SIZE,    /* of the tensor's dimension */
  POLYATTN_CUDA_STRIDE,  /* of the tensor's dimension, in elements */
  POLYATTN_CUDA_WORKSPACE,
  POLYATTN_CUDA_PROFILE, /* zero */
  /* Of programs and hidden tensors only: */
  POLYATTN_CUDA_NUMBER,  /* `dimension` itself */
  POLYATTN_CUDA_SEGMENTS /* `dimension` more than there are segments */
};

/* One parameter of a kernel; all are 8 bytes wide. Tensors are arguments first, then results, then
 * hidden ones. */
typedef struct polyattn_cuda_parameter {
  int32_t kind, tensor, dimension;
} polyattn_cuda_parameter;

/* A tensor of f32 in the workspace. Sizes are POLYATTN_CUDA_SIZE of a caller's tensor, _NUMBER or
 * _SEGMENTS. */
typedef struct polyattn_cuda_hidden_tensor {
  const polyattn_cuda_parameter *sizes;
  int64_t rank;
} polyattn_cuda_hidden_tensor;

/* What a launch needs, as the compiler has described it. The number of CTAs is the product of
 * sizes, of the kinds that hidden tensors have: those of programs and, where these are clusters, of
 * a cluster, which the kernel's code asks for itself.
 *
 * An entry whose positions can be cut into segments has a second kernel, `before`, which fills the
 * hidden tensors of both; it has the same ones, and none before it. */
typedef struct polyattn_cuda_launch_rule {
  const char *function;
  int64_t threads, shared_bytes;
  int64_t workspace_bytes; /* of each CTA */
  const polyattn_cuda_parameter *parameters;
  int64_t num_parameters;
  const polyattn_cuda_parameter *programs;
  int64_t num_programs;
  const polyattn_cuda_hidden_tensor *hidden;
  int64_t num_hidden;
  const struct polyattn_cuda_launch_rule *before; /* NULL where there are no segments */
} polyattn_cuda_launch_rule;

typedef struct polyattn_cuda_kernel {
  const polyattn_cuda_device *device;
  const polyattn_cuda_launch_rule *rule;
  polyattn_cu_module module;
  polyattn_cu_function function;
  polyattn_cu_function before; /* of rule->before, in the same module */
} polyattn_cuda_kernel;

/* Loads a cubin or PTX, which ends in a zero byte. Device and rule outlive the kernel. An error of
 * PTX has what the driver's assembler said, on lines of its own. */
int polyattn_cuda_load(const polyattn_cuda_device *device, const polyattn_cuda_launch_rule *rule,
                       const void *image, polyattn_cuda_kernel *kernel, char *error,
                       size_t error_size);
int polyattn_cuda_unload(polyattn_cuda_kernel *kernel, char *error, size_t error_size);

/* The bytes of workspace that a launch on tensors of these sizes needs, in so many segments; their
 * data is not looked at. Without rule->before there is 1 segment, and more are an error. */
int polyattn_cuda_workspace(const polyattn_cuda_launch_rule *rule,
                            const polyattn_tensor *const *tensors, int64_t num_tensors,
                            int64_t segments, int64_t *bytes, char *error, size_t error_size);

/* Puts the kernel on the stream, and with more than one segment the one before it, and returns.
 * Allocates nothing and waits for nothing, so a stream that is captured into a graph can take it.
 * The workspace is needed until the kernel has ended, and holds nothing after. Tensors are taken
 * as they are: polyattn_rt_check and polyattn_rt_check_rows say whether they are the entry's. */
int polyattn_cuda_launch(const polyattn_cuda_kernel *kernel, const polyattn_tensor *const *tensors,
                         int64_t num_tensors, int64_t segments, void *workspace,
                         int64_t workspace_bytes, polyattn_cu_stream stream, char *error,
                         size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_CUDA_KERNEL_H */

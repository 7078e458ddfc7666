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
#include "runtime/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a kernel, of 8 bytes each: drivers before CUDA 12.1 take 4 KiB. */
#define POLYATTN_CUDA_MAX_PARAMETERS 512
#define POLYATTN_CUDA_MAX_STAGES 64
/* Alignment of the workspace in bytes: what the allocators of the driver and of frameworks
 * guarantee. */
#define POLYATTN_CUDA_WORKSPACE_ALIGNMENT 128

enum {
  POLYATTN_CUDA_POINTER, /* of the tensor */
  POLYATTN_CUDA_SIZE,    /* of the tensor's dimension */
  POLYATTN_CUDA_STRIDE,  /* of the tensor's dimension, in elements */
  POLYATTN_CUDA_WORKSPACE,
  POLYATTN_CUDA_PROFILE /* zero */
};

/* One parameter of a kernel; all are 8 bytes wide. Tensors are the caller's, arguments first, then
 * the workspaces of the stage. */
typedef struct polyattn_cuda_parameter {
  int32_t kind, tensor, dimension;
} polyattn_cuda_parameter;

/* What the launch of a stage needs beside the plan, as the compiler has described it. The stage's
 * scratch is memory of each CTA; where programs are clusters of CTAs, the kernel's code says so. */
typedef struct polyattn_cuda_launch_rule {
  const char *function;
  int64_t threads, shared_bytes;
  const polyattn_cuda_parameter *parameters;
  int64_t num_parameters;
} polyattn_cuda_launch_rule;

/* An entry: a plan without splits and chains, and a rule for each of its stages. */
typedef struct polyattn_cuda_entry_rule {
  const char *name;
  const polyattn_rt_plan *plan;
  const polyattn_cuda_launch_rule *launches;
} polyattn_cuda_entry_rule;

typedef struct polyattn_cuda_kernel {
  const polyattn_cuda_device *device;
  const polyattn_cuda_entry_rule *rule;
  polyattn_cu_module module;
  polyattn_cu_function functions[POLYATTN_CUDA_MAX_STAGES]; /* of the stages */
  int resident_ctas; /* of a multiprocessor, in the stage that has fewest */
} polyattn_cuda_kernel;

/* Loads a cubin or PTX, which ends in a zero byte. Device and rule outlive the kernel. An error of
 * PTX has what the driver's assembler said, on lines of its own. */
int polyattn_cuda_load(const polyattn_cuda_device *device, const polyattn_cuda_entry_rule *rule,
                       const void *image, polyattn_cuda_kernel *kernel, char *error,
                       size_t error_size);
int polyattn_cuda_unload(polyattn_cuda_kernel *kernel, char *error, size_t error_size);

/* The bytes of workspace that a launch on tensors of these sizes needs, in so many segments; their
 * data is not looked at. Where the plan does not choose segments there is 1, and more are an error.
 */
int polyattn_cuda_workspace(const polyattn_cuda_entry_rule *rule,
                            const polyattn_tensor *const *tensors, int64_t num_tensors,
                            int64_t segments, int64_t *bytes, char *error, size_t error_size);

/* Puts the stages that have programs on the stream, and returns.
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

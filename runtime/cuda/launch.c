/*===- launch.c - from the caller's tensors to a kernel's parameters ------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "kernel.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define CHECK(call, name) polyattn_cuda_check(driver, name, driver->call, error, error_size)

/* Whether a rule's tensor and dimension exist. */
static int exists(const polyattn_cuda_parameter *parameter, const polyattn_tensor *const *tensors,
                  int64_t num_tensors) {
  if (parameter->kind == POLYATTN_CUDA_WORKSPACE || parameter->kind == POLYATTN_CUDA_PROFILE)
    return 1;
  if (parameter->tensor < 0 || parameter->tensor >= num_tensors || !tensors[parameter->tensor])
    return 0;
  return parameter->kind == POLYATTN_CUDA_POINTER ||
         (parameter->dimension >= 0 && parameter->dimension < tensors[parameter->tensor]->rank);
}

static int complain(const polyattn_cuda_launch_rule *rule, const polyattn_cuda_parameter *parameter,
                    int64_t num_tensors, char *error, size_t error_size) {
  snprintf(error, error_size,
           "%s: the kernel wants dimension %d of tensor %d, and the %" PRId64
           " tensors have no such one",
           rule->function, (int)parameter->dimension, (int)parameter->tensor, num_tensors);
  return 1;
}

static int count_programs(const polyattn_cuda_launch_rule *rule,
                          const polyattn_tensor *const *tensors, int64_t num_tensors,
                          int64_t *count, char *error, size_t error_size) {
  *count = 1;
  for (int64_t i = 0; i < rule->num_programs; ++i) {
    const polyattn_cuda_parameter *size = &rule->programs[i];
    if (!exists(size, tensors, num_tensors))
      return complain(rule, size, num_tensors, error, error_size);
    if (__builtin_mul_overflow(*count, tensors[size->tensor]->sizes[size->dimension], count) ||
        *count > INT_MAX) {
      snprintf(error, error_size, "%s: there are more programs than a grid has CTAs",
               rule->function);
      return 1;
    }
  }
  return 0;
}

int polyattn_cuda_workspace(const polyattn_cuda_launch_rule *rule,
                            const polyattn_tensor *const *tensors, int64_t num_tensors,
                            int64_t *bytes, char *error, size_t error_size) {
  int64_t programs;
  if (count_programs(rule, tensors, num_tensors, &programs, error, error_size))
    return 1;
  if (__builtin_mul_overflow(programs, rule->workspace_bytes, bytes)) {
    snprintf(error, error_size, "%s: the workspace exceeds 64 bits", rule->function);
    return 1;
  }
  return 0;
}

static int check_workspace(const polyattn_cuda_launch_rule *rule, int64_t programs,
                           const void *workspace, int64_t bytes, char *error, size_t error_size) {
  int64_t wanted;
  if (!__builtin_mul_overflow(programs, rule->workspace_bytes, &wanted) &&
      (wanted == 0 || (workspace && bytes >= wanted &&
                       (uintptr_t)workspace % POLYATTN_CUDA_WORKSPACE_ALIGNMENT == 0)))
    return 0;
  snprintf(error, error_size,
           "%s: expected a workspace of %" PRId64 " bytes, aligned to %d, got %" PRId64 " at %p",
           rule->function, wanted, POLYATTN_CUDA_WORKSPACE_ALIGNMENT, bytes, workspace);
  return 1;
}

static uint64_t bind(const polyattn_cuda_parameter *parameter,
                     const polyattn_tensor *const *tensors, void *workspace) {
  switch (parameter->kind) {
  case POLYATTN_CUDA_POINTER:
    return (uint64_t)(uintptr_t)tensors[parameter->tensor]->data;
  case POLYATTN_CUDA_SIZE:
    return (uint64_t)tensors[parameter->tensor]->sizes[parameter->dimension];
  case POLYATTN_CUDA_STRIDE:
    return (uint64_t)tensors[parameter->tensor]->strides[parameter->dimension];
  case POLYATTN_CUDA_WORKSPACE:
    return (uint64_t)(uintptr_t)workspace;
  }
  return 0;
}

int polyattn_cuda_launch(const polyattn_cuda_kernel *kernel, const polyattn_tensor *const *tensors,
                         int64_t num_tensors, void *workspace, int64_t workspace_bytes,
                         polyattn_cu_stream stream, char *error, size_t error_size) {
  const polyattn_cuda_launch_rule *rule = kernel->rule;
  const polyattn_cuda_driver *driver = &kernel->device->driver;
  int64_t programs;
  if (count_programs(rule, tensors, num_tensors, &programs, error, error_size) ||
      check_workspace(rule, programs, workspace, workspace_bytes, error, error_size))
    return 1;
  uint64_t values[POLYATTN_CUDA_MAX_PARAMETERS];
  void *pointers[POLYATTN_CUDA_MAX_PARAMETERS];
  for (int64_t i = 0; i < rule->num_parameters; ++i) {
    if (!exists(&rule->parameters[i], tensors, num_tensors))
      return complain(rule, &rule->parameters[i], num_tensors, error, error_size);
    values[i] = bind(&rule->parameters[i], tensors, workspace);
    pointers[i] = &values[i];
  }
  if (programs == 0) /* The driver refuses an empty grid. */
    return 0;
  int pushed;
  if (polyattn_cuda_enter(kernel->device, &pushed, error, error_size))
    return 1;
  int failed =
      CHECK(launch_kernel(kernel->function, (unsigned)programs, 1, 1, (unsigned)rule->threads, 1, 1,
                          (unsigned)rule->shared_bytes, stream, pointers, NULL),
            "cuLaunchKernel");
  return polyattn_cuda_leave(kernel->device, pushed, failed ? NULL : error,
                             failed ? 0 : error_size) ||
         failed;
}

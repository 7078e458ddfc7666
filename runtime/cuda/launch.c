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

/* The caller's tensors of a launch, then the hidden ones. */
typedef struct arguments {
  const polyattn_tensor *const *tensors;
  int64_t num_tensors, segments;
  polyattn_tensor hidden[POLYATTN_CUDA_MAX_HIDDEN];
  int64_t num_hidden;
  void *workspace; /* behind the hidden tensors */
} arguments;

static const polyattn_tensor *tensor_of(const arguments *all, int64_t i) {
  if (i < 0 || i >= all->num_tensors + all->num_hidden)
    return NULL;
  return i < all->num_tensors ? all->tensors[i] : &all->hidden[i - all->num_tensors];
}

/* Whether a rule's tensor and dimension exist. */
static int exists(const polyattn_cuda_parameter *parameter, const arguments *all) {
  if (parameter->kind != POLYATTN_CUDA_POINTER && parameter->kind != POLYATTN_CUDA_SIZE &&
      parameter->kind != POLYATTN_CUDA_STRIDE)
    return 1;
  const polyattn_tensor *tensor = tensor_of(all, parameter->tensor);
  return tensor && (parameter->kind == POLYATTN_CUDA_POINTER ||
                    (parameter->dimension >= 0 && parameter->dimension < tensor->rank));
}

static int complain(const polyattn_cuda_launch_rule *rule, const polyattn_cuda_parameter *parameter,
                    const arguments *all, char *error, size_t error_size) {
  snprintf(error, error_size,
           "%s: the kernel wants dimension %d of tensor %d, and the %" PRId64
           " tensors have no such one",
           rule->function, (int)parameter->dimension, (int)parameter->tensor,
           all->num_tensors + all->num_hidden);
  return 1;
}

static int64_t size_of(const polyattn_cuda_parameter *size, const arguments *all) {
  if (size->kind == POLYATTN_CUDA_SIZE)
    return tensor_of(all, size->tensor)->sizes[size->dimension];
  return size->dimension + (size->kind == POLYATTN_CUDA_SEGMENTS ? all->segments : 0);
}

static int count_programs(const polyattn_cuda_launch_rule *rule, const arguments *all,
                          int64_t *count, char *error, size_t error_size) {
  *count = 1;
  for (int64_t i = 0; i < rule->num_programs; ++i) {
    const polyattn_cuda_parameter *size = &rule->programs[i];
    if (!exists(size, all))
      return complain(rule, size, all, error, error_size);
    if (__builtin_mul_overflow(*count, size_of(size, all), count) || *count > INT_MAX) {
      snprintf(error, error_size, "%s: there are more programs than a grid has CTAs",
               rule->function);
      return 1;
    }
  }
  return 0;
}

static int too_large(const polyattn_cuda_launch_rule *rule, char *error, size_t error_size) {
  snprintf(error, error_size, "%s: the workspace exceeds 64 bits", rule->function);
  return 1;
}

/* Adds `count` numbers to `bytes`, which stays a multiple of the workspace's alignment. */
static int add_numbers(int64_t *bytes, int64_t count) {
  const int64_t alignment = POLYATTN_CUDA_WORKSPACE_ALIGNMENT;
  int64_t more;
  if (__builtin_mul_overflow(count, (int64_t)sizeof(float), &more) ||
      __builtin_add_overflow(more, alignment - 1, &more))
    return 1;
  return __builtin_add_overflow(*bytes, more / alignment * alignment, bytes);
}

/* Gives a hidden tensor its sizes and its place, *bytes into the workspace. */
static int place_tensor(const polyattn_cuda_launch_rule *rule,
                        const polyattn_cuda_hidden_tensor *hidden, char *workspace, arguments *all,
                        int64_t *bytes, char *error, size_t error_size) {
  int64_t sizes[POLYATTN_MAX_RANK], count = 1;
  if (hidden->rank > POLYATTN_MAX_RANK) {
    snprintf(error, error_size, "%s: a hidden tensor has %" PRId64 " dimensions", rule->function,
             hidden->rank);
    return 1;
  }
  for (int64_t i = 0; i < hidden->rank; ++i) {
    if (!exists(&hidden->sizes[i], all))
      return complain(rule, &hidden->sizes[i], all, error, error_size);
    sizes[i] = size_of(&hidden->sizes[i], all);
    if (__builtin_mul_overflow(count, sizes[i], &count))
      return too_large(rule, error, error_size);
  }
  void *data = workspace ? workspace + *bytes : NULL;
  all->hidden[all->num_hidden++] = polyattn_dense(data, POLYATTN_F32, (int32_t)hidden->rank, sizes);
  return add_numbers(bytes, count) ? too_large(rule, error, error_size) : 0;
}

/* Places the hidden tensors at the beginning of the workspace, and says how many bytes they and
 * the programs of the kernel that needs more take. */
static int place_all(const polyattn_cuda_launch_rule *rule, char *workspace, arguments *all,
                     int64_t *bytes, char *error, size_t error_size) {
  *bytes = 0;
  if (all->segments < 1 || (all->segments > 1 && !rule->before)) {
    snprintf(error, error_size, "%s: its positions cannot be cut into %" PRId64 " segments",
             rule->function, all->segments);
    return 1;
  }
  all->num_hidden = 0;
  for (int64_t i = 0; i < rule->num_hidden; ++i)
    if (place_tensor(rule, &rule->hidden[i], workspace, all, bytes, error, error_size))
      return 1;
  all->workspace = workspace ? workspace + *bytes : NULL;
  int64_t most = *bytes;
  for (const polyattn_cuda_launch_rule *one = rule; one; one = one->before) {
    int64_t programs, own;
    if (count_programs(one, all, &programs, error, error_size))
      return 1;
    if (__builtin_mul_overflow(programs, one->workspace_bytes, &own) ||
        __builtin_add_overflow(own, *bytes, &own))
      return too_large(one, error, error_size);
    most = own > most ? own : most;
  }
  *bytes = most;
  return 0;
}

int polyattn_cuda_workspace(const polyattn_cuda_launch_rule *rule,
                            const polyattn_tensor *const *tensors, int64_t num_tensors,
                            int64_t segments, int64_t *bytes, char *error, size_t error_size) {
  arguments all;
  all.tensors = tensors;
  all.num_tensors = num_tensors;
  all.segments = segments;
  return place_all(rule, NULL, &all, bytes, error, error_size);
}

static int check_workspace(const polyattn_cuda_launch_rule *rule, int64_t wanted,
                           const void *workspace, int64_t bytes, char *error, size_t error_size) {
  if (wanted == 0 || (workspace && bytes >= wanted &&
                      (uintptr_t)workspace % POLYATTN_CUDA_WORKSPACE_ALIGNMENT == 0))
    return 0;
  snprintf(error, error_size,
           "%s: expected a workspace of %" PRId64 " bytes, aligned to %d, got %" PRId64 " at %p",
           rule->function, wanted, POLYATTN_CUDA_WORKSPACE_ALIGNMENT, bytes, workspace);
  return 1;
}

static uint64_t bind(const polyattn_cuda_parameter *parameter, const arguments *all) {
  switch (parameter->kind) {
  case POLYATTN_CUDA_POINTER:
    return (uint64_t)(uintptr_t)tensor_of(all, parameter->tensor)->data;
  case POLYATTN_CUDA_SIZE:
    return (uint64_t)tensor_of(all, parameter->tensor)->sizes[parameter->dimension];
  case POLYATTN_CUDA_STRIDE:
    return (uint64_t)tensor_of(all, parameter->tensor)->strides[parameter->dimension];
  case POLYATTN_CUDA_WORKSPACE:
    return (uint64_t)(uintptr_t)all->workspace;
  }
  return 0;
}

static int launch_one(const polyattn_cuda_driver *driver, polyattn_cu_function function,
                      const polyattn_cuda_launch_rule *rule, const arguments *all,
                      polyattn_cu_stream stream, char *error, size_t error_size) {
  uint64_t values[POLYATTN_CUDA_MAX_PARAMETERS];
  void *pointers[POLYATTN_CUDA_MAX_PARAMETERS];
  for (int64_t i = 0; i < rule->num_parameters; ++i) {
    values[i] = bind(&rule->parameters[i], all);
    pointers[i] = &values[i];
  }
  int64_t programs;
  if (count_programs(rule, all, &programs, error, error_size))
    return 1;
  if (programs == 0) /* The driver refuses an empty grid. */
    return 0;
  return CHECK(launch_kernel(function, (unsigned)programs, 1, 1, (unsigned)rule->threads, 1, 1,
                             (unsigned)rule->shared_bytes, stream, pointers, NULL),
               "cuLaunchKernel");
}

/* Whether all that the kernels want is there. */
static int check_parameters(const polyattn_cuda_launch_rule *rule, const arguments *all,
                            char *error, size_t error_size) {
  for (; rule; rule = rule->before)
    for (int64_t i = 0; i < rule->num_parameters; ++i)
      if (!exists(&rule->parameters[i], all))
        return complain(rule, &rule->parameters[i], all, error, error_size);
  return 0;
}

int polyattn_cuda_launch(const polyattn_cuda_kernel *kernel, const polyattn_tensor *const *tensors,
                         int64_t num_tensors, int64_t segments, void *workspace,
                         int64_t workspace_bytes, polyattn_cu_stream stream, char *error,
                         size_t error_size) {
  const polyattn_cuda_launch_rule *rule = kernel->rule;
  const polyattn_cuda_driver *driver = &kernel->device->driver;
  arguments all;
  all.tensors = tensors;
  all.num_tensors = num_tensors;
  all.segments = segments;
  int64_t wanted, programs;
  if (place_all(rule, workspace, &all, &wanted, error, error_size) ||
      check_workspace(rule, wanted, workspace, workspace_bytes, error, error_size) ||
      check_parameters(rule, &all, error, error_size) ||
      count_programs(rule, &all, &programs, error, error_size))
    return 1;
  int pushed;
  if (programs == 0)
    return 0;
  if (polyattn_cuda_enter(kernel->device, &pushed, error, error_size))
    return 1;
  int failed = (rule->before && launch_one(driver, kernel->before, rule->before, &all, stream,
                                           error, error_size)) ||
               launch_one(driver, kernel->function, rule, &all, stream, error, error_size);
  return polyattn_cuda_leave(kernel->device, pushed, failed ? NULL : error,
                             failed ? 0 : error_size) ||
         failed;
}

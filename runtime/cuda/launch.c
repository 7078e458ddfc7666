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

/* The caller's tensors of a launch and its workspaces. */
typedef struct arguments {
  const polyattn_cuda_entry_rule *rule;
  const polyattn_tensor *const *tensors;
  const int64_t *shapes[POLYATTN_CUDA_MAX_PARAMETERS]; /* of the tensors */
  int64_t num_tensors;
  polyattn_rt_launch launch;
  polyattn_tensor workspaces[POLYATTN_RT_MAX_WORKSPACES];
  void *scratch; /* behind the workspaces */
} arguments;

static int complain(const char *name, const arguments *all, int64_t tensor, int64_t dimension,
                    char *error, size_t error_size) {
  snprintf(error, error_size,
           "%s: the kernel wants dimension %" PRId64 " of tensor %" PRId64 ", and the %" PRId64
           " tensors have no such one",
           name, dimension, tensor, all->num_tensors);
  return 1;
}

/* Whether the tensors and dimensions exist that extents are counted in. */
static int check_extents(const char *name, const polyattn_rt_extent *extents, int64_t count,
                         const arguments *all, char *error, size_t error_size) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t tensor = extents[i].tensor, dimension = extents[i].dimension;
    if (extents[i].base == POLYATTN_RT_DIMENSION &&
        (tensor < 0 || tensor >= all->num_tensors || dimension < 0 ||
         dimension >= all->tensors[tensor]->rank))
      return complain(name, all, tensor, dimension, error, error_size);
  }
  return 0;
}

static int check_plan(const arguments *all, char *error, size_t error_size) {
  const polyattn_rt_plan *plan = all->rule->plan;
  for (int64_t i = 0; i < plan->num_workspaces; ++i)
    if (check_extents(all->rule->name, plan->workspaces[i].sizes, plan->workspaces[i].rank, all,
                      error, error_size))
      return 1;
  for (int64_t i = 0; i < plan->num_stages; ++i)
    if (check_extents(all->rule->launches[i].function, plan->stages[i].programs,
                      plan->stages[i].num_programs, all, error, error_size))
      return 1;
  return 0;
}

/* The tensor of a parameter: the caller's, or a workspace of the stage; NULL where there is none.
 */
static const polyattn_tensor *tensor_of(const polyattn_rt_stage_rule *stage, const arguments *all,
                                        int64_t i) {
  if (i >= 0 && i < all->num_tensors)
    return all->tensors[i];
  i -= all->num_tensors;
  return i >= 0 && i < stage->num_workspaces ? &all->workspaces[stage->workspaces[i]] : NULL;
}

static int uses_tensor(const polyattn_cuda_parameter *parameter) {
  return parameter->kind == POLYATTN_CUDA_POINTER || parameter->kind == POLYATTN_CUDA_SIZE ||
         parameter->kind == POLYATTN_CUDA_STRIDE;
}

/* Whether all that a kernel wants is there. */
static int check_parameters(const arguments *all, int64_t stage, char *error, size_t error_size) {
  const polyattn_cuda_launch_rule *rule = &all->rule->launches[stage];
  for (int64_t i = 0; i < rule->num_parameters; ++i) {
    const polyattn_cuda_parameter *parameter = &rule->parameters[i];
    if (!uses_tensor(parameter))
      continue;
    const polyattn_tensor *tensor =
        tensor_of(&all->rule->plan->stages[stage], all, parameter->tensor);
    if (!tensor || (parameter->kind != POLYATTN_CUDA_POINTER &&
                    (parameter->dimension < 0 || parameter->dimension >= tensor->rank)))
      return complain(rule->function, all, parameter->tensor, parameter->dimension, error,
                      error_size);
  }
  return 0;
}

/* The CTAs of a stage. */
static int count_ctas(const arguments *all, int64_t stage, int64_t *count, char *error,
                      size_t error_size) {
  const polyattn_rt_stage_rule *rule = &all->rule->plan->stages[stage];
  *count = polyattn_rt_count_programs(rule, &all->launch);
  if (*count >= 0 && !__builtin_mul_overflow(*count, rule->cluster, count) && *count <= INT_MAX)
    return 0;
  snprintf(error, error_size, "%s: there are more programs than a grid has CTAs",
           all->rule->launches[stage].function);
  return 1;
}

static int too_large(const arguments *all, char *error, size_t error_size) {
  snprintf(error, error_size, "%s: the workspace exceeds 64 bits", all->rule->name);
  return 1;
}

/* Gives a workspace its sizes and its address, *bytes into the memory. */
static int place_workspace(const polyattn_rt_workspace_rule *rule, char *memory,
                           polyattn_tensor *workspace, const arguments *all, int64_t *bytes) {
  const int64_t alignment = POLYATTN_CUDA_WORKSPACE_ALIGNMENT;
  int64_t sizes[POLYATTN_MAX_RANK], own = polyattn_rt_workspace_bytes(rule, &all->launch);
  if (own < 0 || __builtin_add_overflow(own, alignment - 1, &own))
    return 1;
  for (int64_t i = 0; i < rule->rank; ++i)
    sizes[i] = polyattn_rt_extent_value(&rule->sizes[i], &all->launch);
  *workspace = polyattn_dense(memory ? memory + *bytes : NULL, (int32_t)rule->dtype,
                              (int32_t)rule->rank, sizes);
  return __builtin_add_overflow(*bytes, own / alignment * alignment, bytes);
}

/* Places the workspaces at the beginning of the memory, and says how many bytes they and the
 * scratch of the stage that needs more take. */
static int place_all(arguments *all, int64_t segments, char *memory, int64_t *bytes, char *error,
                     size_t error_size) {
  const polyattn_rt_plan *plan = all->rule->plan;
  *bytes = 0;
  if (segments < 1 || (segments > 1 && !polyattn_rt_find_choice(plan, POLYATTN_RT_SEGMENTS))) {
    snprintf(error, error_size, "%s: its positions cannot be cut into %" PRId64 " segments",
             all->rule->name, segments);
    return 1;
  }
  if (all->num_tensors > POLYATTN_CUDA_MAX_PARAMETERS) {
    snprintf(error, error_size, "%s: got %" PRId64 " tensors, and there can be %d", all->rule->name,
             all->num_tensors, POLYATTN_CUDA_MAX_PARAMETERS);
    return 1;
  }
  for (int64_t i = 0; i < all->num_tensors; ++i)
    all->shapes[i] = all->tensors[i]->sizes;
  if (check_plan(all, error, error_size))
    return 1;
  /* Parts follow from the sizes alone. */
  polyattn_rt_workers nobody = polyattn_rt_multiprocessors(0, 1);
  all->launch.sizes = all->shapes;
  polyattn_rt_choose(plan, &nobody, &all->launch);
  all->launch.segments = segments;
  for (int64_t i = 0; i < plan->num_workspaces; ++i)
    if (place_workspace(&plan->workspaces[i], memory, &all->workspaces[i], all, bytes))
      return too_large(all, error, error_size);
  all->scratch = memory ? memory + *bytes : NULL;
  int64_t most = *bytes;
  for (int64_t i = 0; i < plan->num_stages; ++i) {
    int64_t own;
    if (count_ctas(all, i, &own, error, error_size))
      return 1;
    if (__builtin_mul_overflow(own, plan->stages[i].scratch_bytes, &own) ||
        __builtin_add_overflow(own, *bytes, &own))
      return too_large(all, error, error_size);
    most = own > most ? own : most;
  }
  *bytes = most;
  return 0;
}

int polyattn_cuda_workspace(const polyattn_cuda_entry_rule *rule,
                            const polyattn_tensor *const *tensors, int64_t num_tensors,
                            int64_t segments, int64_t *bytes, char *error, size_t error_size) {
  arguments all;
  all.rule = rule;
  all.tensors = tensors;
  all.num_tensors = num_tensors;
  return place_all(&all, segments, NULL, bytes, error, error_size);
}

static int check_workspace(const char *name, int64_t wanted, const void *workspace, int64_t bytes,
                           char *error, size_t error_size) {
  if (wanted == 0 || (workspace && bytes >= wanted &&
                      (uintptr_t)workspace % POLYATTN_CUDA_WORKSPACE_ALIGNMENT == 0))
    return 0;
  snprintf(error, error_size,
           "%s: expected a workspace of %" PRId64 " bytes, aligned to %d, got %" PRId64 " at %p",
           name, wanted, POLYATTN_CUDA_WORKSPACE_ALIGNMENT, bytes, workspace);
  return 1;
}

static uint64_t bind(const polyattn_cuda_parameter *parameter, const polyattn_rt_stage_rule *stage,
                     const arguments *all) {
  const polyattn_tensor *tensor =
      uses_tensor(parameter) ? tensor_of(stage, all, parameter->tensor) : NULL;
  switch (parameter->kind) {
  case POLYATTN_CUDA_POINTER:
    return (uint64_t)(uintptr_t)tensor->data;
  case POLYATTN_CUDA_SIZE:
    return (uint64_t)tensor->sizes[parameter->dimension];
  case POLYATTN_CUDA_STRIDE:
    return (uint64_t)tensor->strides[parameter->dimension];
  case POLYATTN_CUDA_WORKSPACE:
    return (uint64_t)(uintptr_t)all->scratch;
  default: /* what is not read */
    return 0;
  }
}

static int launch_stage(const polyattn_cuda_kernel *kernel, int64_t stage, const arguments *all,
                        polyattn_cu_stream stream, char *error, size_t error_size) {
  const polyattn_cuda_driver *driver = &kernel->device->driver;
  const polyattn_cuda_launch_rule *rule = &kernel->rule->launches[stage];
  uint64_t values[POLYATTN_CUDA_MAX_PARAMETERS];
  void *pointers[POLYATTN_CUDA_MAX_PARAMETERS];
  for (int64_t i = 0; i < rule->num_parameters; ++i) {
    values[i] = bind(&rule->parameters[i], &kernel->rule->plan->stages[stage], all);
    pointers[i] = &values[i];
  }
  int64_t ctas;
  if (count_ctas(all, stage, &ctas, error, error_size))
    return 1;
  if (ctas == 0) /* The driver refuses an empty grid. */
    return 0;
  return CHECK(launch_kernel(kernel->functions[stage], (unsigned)ctas, 1, 1,
                             (unsigned)rule->threads, 1, 1, (unsigned)rule->shared_bytes, stream,
                             pointers, NULL),
               "cuLaunchKernel");
}

int polyattn_cuda_launch(const polyattn_cuda_kernel *kernel, const polyattn_tensor *const *tensors,
                         int64_t num_tensors, int64_t segments, void *workspace,
                         int64_t workspace_bytes, polyattn_cu_stream stream, char *error,
                         size_t error_size) {
  int64_t wanted, stages = kernel->rule->plan->num_stages;
  arguments all;
  all.rule = kernel->rule;
  all.tensors = tensors;
  all.num_tensors = num_tensors;
  if (place_all(&all, segments, workspace, &wanted, error, error_size) ||
      check_workspace(kernel->rule->name, wanted, workspace, workspace_bytes, error, error_size))
    return 1;
  for (int64_t i = 0; i < stages; ++i)
    if (check_parameters(&all, i, error, error_size))
      return 1;
  int pushed, failed = 0;
  if (polyattn_cuda_enter(kernel->device, &pushed, error, error_size))
    return 1;
  for (int64_t i = 0; i < stages && !failed; ++i)
    failed = launch_stage(kernel, i, &all, stream, error, error_size);
  return polyattn_cuda_leave(kernel->device, pushed, failed ? NULL : error,
                             failed ? 0 : error_size) ||
         failed;
}

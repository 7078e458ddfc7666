/*===- launch.c - from the caller's tensors to compiled code --------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "cancel.h"
#include "runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TENSORS_ON_STACK 32

/* Whether there is anything to compute: of no positions there may be any number of programs. */
static int has_results(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors) {
  for (int64_t i = 0; i < kernel->num_tensors; ++i) {
    int empty = !kernel->tensors[i].is_result;
    for (int32_t d = 0; d < tensors[i]->rank; ++d)
      empty |= tensors[i]->sizes[d] == 0;
    if (!empty)
      return 1;
  }
  return 0;
}

static int check_programs(const polyattn_rt_kernel *kernel, const polyattn_rt_launch *launch,
                          char *error, size_t error_size) {
  for (int64_t i = 0; i < kernel->plan.num_stages; ++i)
    if (polyattn_rt_count_programs(&kernel->plan.stages[i], launch) < 0) {
      snprintf(error, error_size, "%s: the number of program instances exceeds 64 bits",
               kernel->name);
      return 1;
    }
  return 0;
}

int polyattn_rt_run_on(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                       int64_t num_tensors, const polyattn_rt_team *team, char *error,
                       size_t error_size) {
  polyattn_rt_sizes sizes;
  if (!error)
    error_size = 0;
  if (polyattn_rt_check(kernel, tensors, num_tensors, &sizes, error, error_size) != 0 ||
      polyattn_rt_check_values(kernel, tensors, &sizes, error, error_size) != 0)
    return 1;
  if (team->threads < 1) {
    snprintf(error, error_size, "%s: expected at least 1 thread, got %d", kernel->name,
             team->threads);
    return 1;
  }
  /* Code for another processor would end in an illegal instruction. */
  const char *missing = polyattn_rt_missing_cpu_feature(&kernel->cpu_features);
  if (missing) {
    snprintf(error, error_size, "%s: the code is for %s, and this processor has no %s",
             kernel->name, kernel->cpu ? kernel->cpu : "another processor", missing);
    return 1;
  }
  if (!has_results(kernel, tensors))
    return 0;
  polyattn_rt_memref descriptors_on_stack[TENSORS_ON_STACK];
  void *pointers_on_stack[TENSORS_ON_STACK];
  const int64_t *shapes_on_stack[TENSORS_ON_STACK];
  polyattn_rt_memref *descriptors = descriptors_on_stack;
  void **pointers = pointers_on_stack;
  const int64_t **shapes = shapes_on_stack;
  void *memory = NULL;
  if (num_tensors > TENSORS_ON_STACK) {
    memory = malloc((size_t)num_tensors * (sizeof(polyattn_rt_memref) + 2 * sizeof(void *)));
    if (!memory) {
      snprintf(error, error_size, "%s: out of memory", kernel->name);
      return 1;
    }
    descriptors = memory;
    pointers = (void **)(descriptors + num_tensors);
    shapes = (const int64_t **)(pointers + num_tensors);
  }
  for (int64_t i = 0; i < num_tensors; ++i) {
    polyattn_rt_describe(tensors[i], &descriptors[i]);
    pointers[i] = &descriptors[i];
    shapes[i] = descriptors[i].dimensions;
  }
  polyattn_rt_launch launch = {shapes, 1, 1, 1};
  polyattn_rt_workers workers = polyattn_rt_threads(team->threads);
  polyattn_rt_choose(&kernel->plan, &workers, &launch);
  void *weights = NULL;
  int status = check_programs(kernel, &launch, error, error_size) ||
               polyattn_rt_copy_weights(kernel, tensors, descriptors, &weights, error, error_size);
  if (status == 0)
    status =
        polyattn_rt_run_plan(kernel, &launch, descriptors, pointers,
                             polyattn_rt_size(&sizes, POLYATTN_SIZE_T), team, error, error_size);
  free(weights);
  free(memory);
  return status;
}

int polyattn_rt_run_with(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                         int64_t num_tensors, const polyattn_call_options *options, char *error,
                         size_t error_size) {
  polyattn_rt_team team;
  polyattn_rt_cancellation cancellation;
  if (polyattn_rt_read_options(options, &team, error, error_size) != 0)
    return 1;
  if (polyattn_rt_can_be_cancelled(options)) {
    polyattn_rt_begin_cancellable(options->is_cancelled, options->cancelled_user, &cancellation);
    team.cancellation = &cancellation;
  }
  return polyattn_rt_run_on(kernel, tensors, num_tensors, &team, error, error_size);
}

int polyattn_rt_run(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                    int64_t num_tensors, int threads, char *error, size_t error_size) {
  polyattn_rt_team team = polyattn_rt_team_of(threads);
  return polyattn_rt_run_on(kernel, tensors, num_tensors, &team, error, error_size);
}

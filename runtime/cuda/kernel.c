/*===- kernel.c - a kernel on a GPU ---------------------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "kernel.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call, name) polyattn_cuda_check(driver, name, driver->call, error, error_size)

/* The error of a load, with the assembler's log where there is one. */
static int load_module(const polyattn_cuda_driver *driver, const void *image,
                       polyattn_cu_module *module, char *error, size_t error_size) {
  char log[2048] = "";
  int options[] = {POLYATTN_CU_JIT_ERROR_LOG, POLYATTN_CU_JIT_ERROR_LOG_BYTES};
  /* The driver takes numbers in place of pointers. */
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  if (!CHECK(module_load(module, image, 2, options, values), "cuModuleLoadDataEx"))
    return 0;
  size_t used = error_size ? strlen(error) : 0;
  if (log[0] && used < error_size)
    snprintf(error + used, error_size - used, "\n%s", log);
  return 1;
}

static int find_function(const polyattn_cuda_driver *driver, polyattn_cu_module module,
                         const polyattn_cuda_launch_rule *rule, polyattn_cu_function *function,
                         int *resident_ctas, char *error, size_t error_size) {
  if (CHECK(module_function(function, module, rule->function), "cuModuleGetFunction"))
    return 1;
  /* Launches that need more than 48 KiB must have said so. */
  return CHECK(function_set_attribute(*function, POLYATTN_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
                                      (int)rule->shared_bytes),
               "cuFuncSetAttribute") ||
         CHECK(occupancy(resident_ctas, *function, (int)rule->threads, (size_t)rule->shared_bytes),
               "cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

static int find_functions(const polyattn_cuda_driver *driver, polyattn_cuda_kernel *kernel,
                          char *error, size_t error_size) {
  for (int64_t i = 0; i < kernel->rule->plan->num_stages; ++i) {
    int ctas = 1;
    if (find_function(driver, kernel->module, &kernel->rule->launches[i], &kernel->functions[i],
                      &ctas, error, error_size))
      return 1;
    if (i == 0 || ctas < kernel->resident_ctas)
      kernel->resident_ctas = ctas;
  }
  return 0;
}

static int check_launch(const polyattn_cuda_device *device, const polyattn_cuda_launch_rule *rule,
                        char *error, size_t error_size) {
  if (rule->num_parameters > POLYATTN_CUDA_MAX_PARAMETERS) {
    snprintf(error, error_size, "%s: the kernel has %" PRId64 " parameters, and there can be %d",
             rule->function, rule->num_parameters, POLYATTN_CUDA_MAX_PARAMETERS);
    return 1;
  }
  if (rule->shared_bytes > device->properties.shared_bytes) {
    snprintf(error, error_size,
             "%s: the kernel needs %" PRId64 " bytes of shared memory, and %s has %d",
             rule->function, rule->shared_bytes, device->properties.name,
             device->properties.shared_bytes);
    return 1;
  }
  return 0;
}

/* What this runtime launches of all that plans can say. */
static int check_plan(const polyattn_cuda_entry_rule *rule, char *error, size_t error_size) {
  const polyattn_rt_plan *plan = rule->plan;
  if (plan->num_stages > POLYATTN_CUDA_MAX_STAGES ||
      plan->num_workspaces > POLYATTN_RT_MAX_WORKSPACES) {
    snprintf(error, error_size,
             "%s: the entry has %" PRId64 " stages and %" PRId64
             " workspaces, and there can be %d and %d",
             rule->name, plan->num_stages, plan->num_workspaces, POLYATTN_CUDA_MAX_STAGES,
             POLYATTN_RT_MAX_WORKSPACES);
    return 1;
  }
  int others = 0;
  for (int64_t i = 0; i < plan->num_stages; ++i)
    others |= plan->stages[i].kind != POLYATTN_RT_STAGE &&
              plan->stages[i].kind != POLYATTN_RT_STAGE_SUMS_SEGMENTS;
  for (int64_t i = 0; i < plan->num_workspaces; ++i)
    others |= (plan->workspaces[i].fill != POLYATTN_RT_FILL_NONE &&
               plan->workspaces[i].fill != POLYATTN_RT_FILL_PROGRAM);
  if (others)
    snprintf(error, error_size, "%s: the entry has stages or workspaces that are not for GPUs",
             rule->name);
  return others;
}

static int check_rule(const polyattn_cuda_device *device, const polyattn_cuda_entry_rule *rule,
                      char *error, size_t error_size) {
  if (check_plan(rule, error, error_size))
    return 1;
  for (int64_t i = 0; i < rule->plan->num_stages; ++i)
    if (check_launch(device, &rule->launches[i], error, error_size))
      return 1;
  return 0;
}

int polyattn_cuda_load(const polyattn_cuda_device *device, const polyattn_cuda_entry_rule *rule,
                       const void *image, polyattn_cuda_kernel *kernel, char *error,
                       size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  memset(kernel, 0, sizeof *kernel);
  int pushed;
  if (check_rule(device, rule, error, error_size) ||
      polyattn_cuda_enter(device, &pushed, error, error_size))
    return 1;
  kernel->device = device;
  kernel->rule = rule;
  int failed = load_module(driver, image, &kernel->module, error, error_size);
  if (!failed) {
    failed = find_functions(driver, kernel, error, error_size);
    if (failed)
      driver->module_unload(kernel->module);
  }
  if (failed) {
    polyattn_cuda_leave(device, pushed, NULL, 0);
  } else if (polyattn_cuda_leave(device, pushed, error, error_size)) {
    driver->module_unload(kernel->module);
    failed = 1;
  }
  if (failed)
    memset(kernel, 0, sizeof *kernel);
  return failed;
}

int polyattn_cuda_unload(polyattn_cuda_kernel *kernel, char *error, size_t error_size) {
  if (!kernel->module)
    return 0;
  const polyattn_cuda_device *device = kernel->device;
  const polyattn_cuda_driver *driver = &device->driver;
  /* Tried in any case: nobody will come back for it. */
  int pushed, failed = polyattn_cuda_enter(device, &pushed, error, error_size);
  failed |= polyattn_cuda_check(driver, "cuModuleUnload", driver->module_unload(kernel->module),
                                failed ? NULL : error, failed ? 0 : error_size);
  memset(kernel, 0, sizeof *kernel);
  return polyattn_cuda_leave(device, pushed, failed ? NULL : error, failed ? 0 : error_size) ||
         failed;
}

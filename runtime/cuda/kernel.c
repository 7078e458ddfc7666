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
                         char *error, size_t error_size) {
  if (CHECK(module_function(function, module, rule->function), "cuModuleGetFunction"))
    return 1;
  /* Launches that need more than 48 KiB must have said so. */
  return CHECK(function_set_attribute(*function, POLYATTN_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
                                      (int)rule->shared_bytes),
               "cuFuncSetAttribute");
}

static int find_functions(const polyattn_cuda_driver *driver, polyattn_cuda_kernel *kernel,
                          char *error, size_t error_size) {
  const polyattn_cuda_launch_rule *rule = kernel->rule;
  return find_function(driver, kernel->module, rule, &kernel->function, error, error_size) ||
         (rule->before &&
          find_function(driver, kernel->module, rule->before, &kernel->before, error, error_size));
}

static int check_rule(const polyattn_cuda_device *device, const polyattn_cuda_launch_rule *rule,
                      char *error, size_t error_size) {
  if (rule->num_parameters > POLYATTN_CUDA_MAX_PARAMETERS) {
    snprintf(error, error_size, "%s: the kernel has %" PRId64 " parameters, and there can be %d",
             rule->function, rule->num_parameters, POLYATTN_CUDA_MAX_PARAMETERS);
    return 1;
  }
  if (rule->num_hidden > POLYATTN_CUDA_MAX_HIDDEN) {
    snprintf(error, error_size,
             "%s: the kernel has %" PRId64 " hidden tensors, and there can be %d", rule->function,
             rule->num_hidden, POLYATTN_CUDA_MAX_HIDDEN);
    return 1;
  }
  if (rule->shared_bytes > device->properties.shared_bytes) {
    snprintf(error, error_size,
             "%s: the kernel needs %" PRId64 " bytes of shared memory, and %s has %d",
             rule->function, rule->shared_bytes, device->properties.name,
             device->properties.shared_bytes);
    return 1;
  }
  return rule->before ? check_rule(device, rule->before, error, error_size) : 0;
}

int polyattn_cuda_load(const polyattn_cuda_device *device, const polyattn_cuda_launch_rule *rule,
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

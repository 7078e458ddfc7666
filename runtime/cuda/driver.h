/*===- driver.h - the CUDA driver, loaded at run time -----------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* C11 and POSIX. The few types and functions of the driver API that we use are declared here,
 * so that building needs no CUDA; NVIDIA keeps their ABI ("CUDA Driver API", versioned symbols). */
#ifndef POLYATTN_RUNTIME_CUDA_DRIVER_H
#define POLYATTN_RUNTIME_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int polyattn_cu_result; /* 0 is success */
typedef int polyattn_cu_device;
typedef uint64_t polyattn_cu_address;
typedef struct polyattn_cu_context_object *polyattn_cu_context;
typedef struct polyattn_cu_module_object *polyattn_cu_module;
typedef struct polyattn_cu_function_object *polyattn_cu_function;
typedef struct polyattn_cu_stream_object *polyattn_cu_stream;
typedef struct polyattn_cu_event_object *polyattn_cu_event;

/* The numbers of CUdevice_attribute, CUfunction_attribute and CUjit_option that we use. */
enum {
  POLYATTN_CU_DEVICE_MULTIPROCESSORS = 16,
  POLYATTN_CU_DEVICE_MAJOR = 75,
  POLYATTN_CU_DEVICE_MINOR = 76,
  POLYATTN_CU_DEVICE_SHARED_BYTES_OPT_IN = 97,
  POLYATTN_CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8,
  POLYATTN_CU_JIT_ERROR_LOG = 5,
  POLYATTN_CU_JIT_ERROR_LOG_BYTES = 6
};

/* name in the table, symbol, parameters */
#define POLYATTN_CU_FUNCTIONS(X)                                                                   \
  X(get_error_string, cuGetErrorString, (polyattn_cu_result, const char **))                       \
  X(init, cuInit, (unsigned))                                                                      \
  X(driver_version, cuDriverGetVersion, (int *))                                                   \
  X(device_get, cuDeviceGet, (polyattn_cu_device *, int))                                          \
  X(device_name, cuDeviceGetName, (char *, int, polyattn_cu_device))                               \
  X(device_attribute, cuDeviceGetAttribute, (int *, int, polyattn_cu_device))                      \
  X(primary_retain, cuDevicePrimaryCtxRetain, (polyattn_cu_context *, polyattn_cu_device))         \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (polyattn_cu_device))                           \
  X(context_current, cuCtxGetCurrent, (polyattn_cu_context *))                                     \
  X(context_device, cuCtxGetDevice, (polyattn_cu_device *))                                        \
  X(context_push, cuCtxPushCurrent_v2, (polyattn_cu_context))                                      \
  X(context_pop, cuCtxPopCurrent_v2, (polyattn_cu_context *))                                      \
  X(module_load, cuModuleLoadDataEx,                                                               \
    (polyattn_cu_module *, const void *, unsigned, int *, void **))                                \
  X(module_unload, cuModuleUnload, (polyattn_cu_module))                                           \
  X(module_function, cuModuleGetFunction,                                                          \
    (polyattn_cu_function *, polyattn_cu_module, const char *))                                    \
  X(function_set_attribute, cuFuncSetAttribute, (polyattn_cu_function, int, int))                  \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                        \
    (int *, polyattn_cu_function, int, size_t))                                                    \
  X(launch_kernel, cuLaunchKernel,                                                                 \
    (polyattn_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     polyattn_cu_stream, void **, void **))                                                        \
  X(memory_allocate, cuMemAlloc_v2, (polyattn_cu_address *, size_t))                               \
  X(memory_free, cuMemFree_v2, (polyattn_cu_address))                                              \
  X(copy_to_device, cuMemcpyHtoD_v2, (polyattn_cu_address, const void *, size_t))                  \
  X(copy_to_host, cuMemcpyDtoH_v2, (void *, polyattn_cu_address, size_t))                          \
  X(event_create, cuEventCreate, (polyattn_cu_event *, unsigned))                                  \
  X(event_destroy, cuEventDestroy_v2, (polyattn_cu_event))                                         \
  X(event_record, cuEventRecord, (polyattn_cu_event, polyattn_cu_stream))                          \
  X(event_synchronize, cuEventSynchronize, (polyattn_cu_event))                                    \
  X(event_elapsed, cuEventElapsedTime, (float *, polyattn_cu_event, polyattn_cu_event))

typedef struct polyattn_cuda_driver {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration, no expression */
#define POLYATTN_CU_FIELD(name, symbol, parameters) polyattn_cu_result(*name) parameters;
  POLYATTN_CU_FUNCTIONS(POLYATTN_CU_FIELD)
#undef POLYATTN_CU_FIELD
} polyattn_cuda_driver;

/* All functions of the runtime return 0, or 1 and one line in `error`; what they have acquired
 * until then is given back. */

/* Loads `path`, or libcuda.so.1 where that is NULL. The library stays for the process's life, as
 * it has threads and exit handlers of its own. */
int polyattn_cuda_load_driver(const char *path, polyattn_cuda_driver *driver, char *error,
                              size_t error_size);

/* Where `result` is no success, writes the driver's own words for it and returns 1. */
int polyattn_cuda_check(const polyattn_cuda_driver *driver, const char *function,
                        polyattn_cu_result result, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_CUDA_DRIVER_H */

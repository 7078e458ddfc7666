/*===- device.h - one GPU: its context, facts and memory --------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#ifndef POLYATTN_RUNTIME_CUDA_DEVICE_H
#define POLYATTN_RUNTIME_CUDA_DEVICE_H

#include "driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct polyattn_cuda_properties {
  char name[256];
  int driver_version; /* 12040 for 12.4 */
  int major, minor;   /* compute capability */
  int multiprocessors;
  int shared_bytes; /* of a CTA that asks for them */
} polyattn_cuda_properties;

typedef struct polyattn_cuda_device {
  polyattn_cuda_driver driver;
  polyattn_cu_device device;
  polyattn_cu_context context;
  int is_retained; /* the context is the primary one, and we hold it */
  polyattn_cuda_properties properties;
} polyattn_cuda_device;

/* Uses the calling thread's context, as a framework has made it, if `ordinal` is negative or its
 * device; else the primary context of device `ordinal`, or of device 0. The thread's current
 * context is the same after any function of this runtime as before. */
int polyattn_cuda_open(const polyattn_cuda_driver *driver, int ordinal,
                       polyattn_cuda_device *device, char *error, size_t error_size);
void polyattn_cuda_close(polyattn_cuda_device *device);

/* Makes the device's context current where it is not, and undoes that. */
int polyattn_cuda_enter(const polyattn_cuda_device *device, int *pushed, char *error,
                        size_t error_size);
int polyattn_cuda_leave(const polyattn_cuda_device *device, int pushed, char *error,
                        size_t error_size);

/* Memory, for tools; callers with a framework have their own. Copies wait for their end. */
int polyattn_cuda_allocate(const polyattn_cuda_device *device, size_t bytes, void **memory,
                           char *error, size_t error_size);
int polyattn_cuda_free(const polyattn_cuda_device *device, void *memory, char *error,
                       size_t error_size);
int polyattn_cuda_copy_in(const polyattn_cuda_device *device, void *to, const void *from,
                          size_t bytes, char *error, size_t error_size);
int polyattn_cuda_copy_out(const polyattn_cuda_device *device, void *to, const void *from,
                           size_t bytes, char *error, size_t error_size);

/* Runs `work` and says how long what it has put on the stream took, by events; waits for the end.
 * Where `work` returns anything but 0, that is an error, which it has written by itself. */
typedef int (*polyattn_cuda_work)(void *argument, char *error, size_t error_size);
int polyattn_cuda_time(const polyattn_cuda_device *device, polyattn_cu_stream stream,
                       polyattn_cuda_work work, void *argument, double *seconds, char *error,
                       size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_CUDA_DEVICE_H */

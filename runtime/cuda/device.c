/*===- device.c - one GPU: its context and facts --------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "device.h"

#include <string.h>

#define CHECK(call, name) polyattn_cuda_check(driver, name, driver->call, error, error_size)

static int read_properties(const polyattn_cuda_driver *driver, polyattn_cu_device device,
                           polyattn_cuda_properties *properties, char *error, size_t error_size) {
  const struct {
    int attribute;
    int *value;
  } numbers[] = {{POLYATTN_CU_DEVICE_MAJOR, &properties->major},
                 {POLYATTN_CU_DEVICE_MINOR, &properties->minor},
                 {POLYATTN_CU_DEVICE_MULTIPROCESSORS, &properties->multiprocessors},
                 {POLYATTN_CU_DEVICE_SHARED_BYTES_OPT_IN, &properties->shared_bytes}};
  if (CHECK(driver_version(&properties->driver_version), "cuDriverGetVersion") ||
      CHECK(device_name(properties->name, sizeof properties->name, device), "cuDeviceGetName"))
    return 1;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    if (CHECK(device_attribute(numbers[i].value, numbers[i].attribute, device),
              "cuDeviceGetAttribute"))
      return 1;
  return 0;
}

int polyattn_cuda_open(const polyattn_cuda_driver *table, int ordinal, polyattn_cuda_device *device,
                       char *error, size_t error_size) {
  memset(device, 0, sizeof *device);
  device->driver = *table;
  const polyattn_cuda_driver *driver = &device->driver;
  polyattn_cu_context current = NULL;
  if (CHECK(init(0), "cuInit") || CHECK(context_current(&current), "cuCtxGetCurrent"))
    return 1;
  if (current && CHECK(context_device(&device->device), "cuCtxGetDevice"))
    return 1;
  polyattn_cu_device wanted = device->device;
  if ((!current || ordinal >= 0) &&
      CHECK(device_get(&wanted, ordinal < 0 ? 0 : ordinal), "cuDeviceGet"))
    return 1;
  if (current && wanted == device->device) {
    device->context = current;
  } else {
    device->device = wanted;
    if (CHECK(primary_retain(&device->context, wanted), "cuDevicePrimaryCtxRetain"))
      return 1;
    device->is_retained = 1;
  }
  if (read_properties(driver, device->device, &device->properties, error, error_size)) {
    polyattn_cuda_close(device);
    return 1;
  }
  return 0;
}

void polyattn_cuda_close(polyattn_cuda_device *device) {
  if (device->is_retained)
    device->driver.primary_release(device->device);
  device->is_retained = 0;
}

int polyattn_cuda_enter(const polyattn_cuda_device *device, int *pushed, char *error,
                        size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  polyattn_cu_context current = NULL;
  *pushed = 0;
  if (CHECK(context_current(&current), "cuCtxGetCurrent"))
    return 1;
  if (current == device->context)
    return 0;
  if (CHECK(context_push(device->context), "cuCtxPushCurrent"))
    return 1;
  *pushed = 1;
  return 0;
}

int polyattn_cuda_leave(const polyattn_cuda_device *device, int pushed, char *error,
                        size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  polyattn_cu_context popped;
  return pushed ? CHECK(context_pop(&popped), "cuCtxPopCurrent") : 0;
}

/*===- memory.c - a GPU's memory and clock, for tools ---------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "device.h"

#define CHECK(call, name) polyattn_cuda_check(driver, name, driver->call, error, error_size)

static polyattn_cu_address address_of(const void *memory) {
  return (polyattn_cu_address)(uintptr_t)memory;
}

/* Leaves the context; what failed before is the error that stays. */
static int leave(const polyattn_cuda_device *device, int pushed, int failed, char *error,
                 size_t error_size) {
  return polyattn_cuda_leave(device, pushed, failed ? NULL : error, failed ? 0 : error_size) ||
         failed;
}

int polyattn_cuda_allocate(const polyattn_cuda_device *device, size_t bytes, void **memory,
                           char *error, size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  polyattn_cu_address address = 0;
  int pushed;
  if (polyattn_cuda_enter(device, &pushed, error, error_size))
    return 1;
  int failed = CHECK(memory_allocate(&address, bytes ? bytes : 1), "cuMemAlloc");
  if (!failed && polyattn_cuda_leave(device, pushed, error, error_size)) {
    driver->memory_free(address);
    return 1;
  }
  if (failed)
    return leave(device, pushed, 1, error, error_size);
  *memory = (void *)(uintptr_t)address;
  return 0;
}

int polyattn_cuda_free(const polyattn_cuda_device *device, void *memory, char *error,
                       size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  /* Tried in any case: nobody will come back for it. */
  int pushed, failed = polyattn_cuda_enter(device, &pushed, error, error_size);
  failed |= polyattn_cuda_check(driver, "cuMemFree", driver->memory_free(address_of(memory)),
                                failed ? NULL : error, failed ? 0 : error_size);
  return leave(device, pushed, failed, error, error_size);
}

int polyattn_cuda_copy_in(const polyattn_cuda_device *device, void *to, const void *from,
                          size_t bytes, char *error, size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  int pushed;
  if (polyattn_cuda_enter(device, &pushed, error, error_size))
    return 1;
  int failed = CHECK(copy_to_device(address_of(to), from, bytes), "cuMemcpyHtoD");
  return leave(device, pushed, failed, error, error_size);
}

int polyattn_cuda_copy_out(const polyattn_cuda_device *device, void *to, const void *from,
                           size_t bytes, char *error, size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  int pushed;
  if (polyattn_cuda_enter(device, &pushed, error, error_size))
    return 1;
  int failed = CHECK(copy_to_host(to, address_of(from), bytes), "cuMemcpyDtoH");
  return leave(device, pushed, failed, error, error_size);
}

/* Times `work` between two events that exist. */
static int time_between(const polyattn_cuda_driver *driver, polyattn_cu_event start,
                        polyattn_cu_event stop, polyattn_cu_stream stream, polyattn_cuda_work work,
                        void *argument, double *seconds, char *error, size_t error_size) {
  float milliseconds = 0;
  if (CHECK(event_record(start, stream), "cuEventRecord") || work(argument, error, error_size) ||
      CHECK(event_record(stop, stream), "cuEventRecord") ||
      CHECK(event_synchronize(stop), "cuEventSynchronize") ||
      CHECK(event_elapsed(&milliseconds, start, stop), "cuEventElapsedTime"))
    return 1;
  *seconds = milliseconds * 1e-3;
  return 0;
}

int polyattn_cuda_time(const polyattn_cuda_device *device, polyattn_cu_stream stream,
                       polyattn_cuda_work work, void *argument, double *seconds, char *error,
                       size_t error_size) {
  const polyattn_cuda_driver *driver = &device->driver;
  polyattn_cu_event start = NULL, stop = NULL;
  int pushed;
  if (polyattn_cuda_enter(device, &pushed, error, error_size))
    return 1;
  int failed =
      CHECK(event_create(&start, 0), "cuEventCreate") ||
      CHECK(event_create(&stop, 0), "cuEventCreate") ||
      time_between(driver, start, stop, stream, work, argument, seconds, error, error_size);
  polyattn_cu_event events[] = {start, stop};
  for (int i = 0; i < 2; ++i)
    if (events[i])
      failed |= polyattn_cuda_check(driver, "cuEventDestroy", driver->event_destroy(events[i]),
                                    failed ? NULL : error, failed ? 0 : error_size);
  return leave(device, pushed, failed, error, error_size);
}

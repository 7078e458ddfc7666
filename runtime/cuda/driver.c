/*===- driver.c - the CUDA driver, loaded at run time ---------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct symbol {
  const char *name;
  size_t offset;
} symbol;

static const symbol symbols[] = {
#define POLYATTN_CU_SYMBOL(name, symbol, parameters)                                               \
  {#symbol, offsetof(polyattn_cuda_driver, name)},
    POLYATTN_CU_FUNCTIONS(POLYATTN_CU_SYMBOL)
#undef POLYATTN_CU_SYMBOL
};

int polyattn_cuda_load_driver(const char *path, polyattn_cuda_driver *driver, char *error,
                              size_t error_size) {
  if (!path)
    path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(error, error_size, "there is no usable CUDA driver: %s", reason ? reason : path);
    return 1;
  }
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
    void *address = dlsym(library, symbols[i].name);
    if (!address) {
      snprintf(error, error_size, "%s has no %s; a driver of CUDA 11 or newer is needed", path,
               symbols[i].name);
      dlclose(library);
      return 1;
    }
    memcpy((char *)driver + symbols[i].offset, (const void *)&address, sizeof address);
  }
  return 0;
}

int polyattn_cuda_check(const polyattn_cuda_driver *driver, const char *function,
                        polyattn_cu_result result, char *error, size_t error_size) {
  if (result == 0)
    return 0;
  const char *text = NULL;
  if (driver->get_error_string(result, &text) != 0 || !text)
    text = "an error that the driver has no words for";
  snprintf(error, error_size, "%s: %s (%d)", function, text, result);
  return 1;
}

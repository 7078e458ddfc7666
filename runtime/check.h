/*===- check.h - what the checks of a call's tensors share ----------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#ifndef POLYATTN_RUNTIME_CHECK_H
#define POLYATTN_RUNTIME_CHECK_H

#include "runtime.h"

#include <stdbool.h>

/* Whose tensor is looked at, and where to say what is wrong with it. */
typedef struct polyattn_rt_report {
  const polyattn_rt_kernel *kernel;
  const polyattn_rt_tensor_rule *rule;
  char *error;
  size_t size;
} polyattn_rt_report;

/* One line, "entry: argument 'q': ...". Gives 1. */
__attribute__((format(printf, 2, 3))) int polyattn_rt_fail(const polyattn_rt_report *where,
                                                           const char *format, ...);

/* Says that a size is above its limit; `where` and `number` name the sequence if `where` is not
 * empty. Gives 1. */
int polyattn_rt_fail_limit(const polyattn_rt_kernel *kernel, int64_t size, int64_t came,
                           const char *where, int64_t number, char *error, size_t error_size);

/* Whether a tensor has no element. */
bool polyattn_rt_is_empty(const polyattn_tensor *tensor);

/* Whether the bytes of a tensor that is not empty have addresses of 64 bits. */
bool polyattn_rt_is_addressable(const polyattn_tensor *tensor);

/* Whether no two elements of a tensor share memory. Sufficient, and exact for all views made by
 * slicing and permuting a dense tensor. */
bool polyattn_rt_is_injective(const polyattn_tensor *tensor);

/* Whether two tensors of one shape are one. */
bool polyattn_rt_are_same(const polyattn_tensor *a, const polyattn_tensor *b);

/* Whether two tensors share memory. Views that interleave, as those of one packed buffer, do not.
 */
bool polyattn_rt_overlap(const polyattn_tensor *a, const polyattn_tensor *b);

#endif /* POLYATTN_RUNTIME_CHECK_H */

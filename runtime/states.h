/*===- states.h - states of segments that follow each other -----*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#ifndef POLYATTN_RUNTIME_STATES_H
#define POLYATTN_RUNTIME_STATES_H

#include "polyattn-c/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* result = after + decay * before, as polyattn_state_combine says. Returns 0, or 1 and one line of
 * text; nothing has been written then. */
int polyattn_rt_combine_states(const polyattn_tensor *before, const polyattn_tensor *decay,
                               const polyattn_tensor *after, const polyattn_tensor *result,
                               char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_STATES_H */

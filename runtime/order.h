/*===- order.h - programs of packed sequences, longest first ----*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#ifndef POLYATTN_RUNTIME_ORDER_H
#define POLYATTN_RUNTIME_ORDER_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLYATTN_RT_SEQUENCES_ON_STACK 64

/* A packed sequence. What its programs cost each, and those before it in the order together, is
 * counted in positions; an empty sequence costs one. */
typedef struct polyattn_rt_sequence {
  int64_t number;
  double cost, before;
} polyattn_rt_sequence;

/* Packed sequences, longest first: which thread runs a program changes none of its bits, and so the
 * last programs to begin are the short ones. */
typedef struct polyattn_rt_order {
  int64_t count; /* 0: programs run as they are numbered */
  double cost;   /* of one program of each sequence */
  polyattn_rt_sequence *sequences;
  polyattn_rt_sequence on_stack[POLYATTN_RT_SEQUENCES_ON_STACK];
} polyattn_rt_order;

/* The order for a call of this team: none where sequences are not packed, where one thread runs
 * everything, or where there is no memory for it. `descriptors` are of checked tensors. */
void polyattn_rt_find_order(const polyattn_rt_kernel *kernel, const polyattn_rt_memref *descriptors,
                            const polyattn_rt_team *team, polyattn_rt_order *order);
void polyattn_rt_release_order(polyattn_rt_order *order);

/* Whether the stage has the same number of programs for each sequence, those of the first one
 * first, and none waits for another. */
int polyattn_rt_has_order(const polyattn_rt_order *order, const polyattn_rt_kernel *kernel,
                          const polyattn_rt_stage_rule *stage);

/* polyattn_rt_parallel in this order: threads take chunks of equal shares of the positions that
 * are left. `count` is a multiple of the number of sequences. */
int polyattn_rt_parallel_in_order(polyattn_rt_range function, void *context, int64_t count,
                                  const polyattn_rt_order *order, const polyattn_rt_team *team,
                                  int64_t scratch_bytes);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_ORDER_H */

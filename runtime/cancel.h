/*===- cancel.h - calls that their callers may cancel -----------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Programs are not interrupted. Threads look between chunks of them whether the call has been
 * cancelled, and take chunks that are short enough for it. A clock of some milliseconds' resolution
 * is read once per chunk: it takes 5 ns, and calls whose caller cannot cancel read none. */
#ifndef POLYATTN_RUNTIME_CANCEL_H
#define POLYATTN_RUNTIME_CANCEL_H

#include "polyattn-c/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct polyattn_rt_cancellation {
  polyattn_call_cancelled is_cancelled;
  void *user;
  pthread_t caller;   /* the thread that asks */
  int64_t asked;      /* when that thread last asked, or began; 0 before its first chunk */
  _Atomic int answer; /* whether it has been told to end */
} polyattn_rt_cancellation;

void polyattn_rt_begin_cancellable(polyattn_call_cancelled is_cancelled, void *user,
                                   polyattn_rt_cancellation *cancellation);

/* Whether the call has been cancelled, by what its thread was last told. NULL: no. */
int polyattn_rt_was_cancelled(const polyattn_rt_cancellation *cancellation);

/* How many programs one thread runs between two looks. */
typedef struct polyattn_rt_pace {
  polyattn_rt_cancellation *cancellation;
  int64_t limit, began; /* of the last chunk */
} polyattn_rt_pace;

polyattn_rt_pace polyattn_rt_pace_of(polyattn_rt_cancellation *cancellation);

/* The most programs that the calling thread's next chunk may have, 0 once the call has been
 * cancelled. The caller's thread asks now where it has not for 50 ms. */
int64_t polyattn_rt_next_chunk(polyattn_rt_pace *pace);

#endif /* POLYATTN_RUNTIME_CANCEL_H */

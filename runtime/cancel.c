/*===- cancel.c - calls that their callers may cancel ---------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* The coarse clock is Linux's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cancel.h"

#include <stddef.h>
#include <time.h>

#define MILLISECOND INT64_C(1000000)
#define ASK_AFTER (50 * MILLISECOND)
/* How long a program takes is not known: chunks grow from one program on while they are short, and
 * shrink where they were long. There is a largest one, as programs of packed sequences differ. */
#define SHORT_CHUNK (10 * MILLISECOND)
#define LONG_CHUNK (30 * MILLISECOND)
#define GROWTH 8
#define LARGEST_CHUNK 64

#ifdef CLOCK_MONOTONIC_COARSE
#define COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define COARSE_CLOCK CLOCK_MONOTONIC
#endif

static int64_t now(void) {
  struct timespec time;
  clock_gettime(COARSE_CLOCK, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void polyattn_rt_begin_cancellable(polyattn_call_cancelled is_cancelled, void *user,
                                   polyattn_rt_cancellation *cancellation) {
  cancellation->is_cancelled = is_cancelled;
  cancellation->user = user;
  cancellation->caller = pthread_self();
  cancellation->asked = 0;
  atomic_init(&cancellation->answer, 0);
}

int polyattn_rt_was_cancelled(const polyattn_rt_cancellation *cancellation) {
  return cancellation && atomic_load_explicit(&cancellation->answer, memory_order_relaxed);
}

polyattn_rt_pace polyattn_rt_pace_of(polyattn_rt_cancellation *cancellation) {
  polyattn_rt_pace pace = {cancellation, 0, 0};
  return pace;
}

/* Asks the caller if it is time for it. */
static void ask(polyattn_rt_cancellation *cancellation, int64_t time) {
  if (!pthread_equal(pthread_self(), cancellation->caller))
    return;
  if (cancellation->asked == 0)
    cancellation->asked = time;
  if (time - cancellation->asked < ASK_AFTER)
    return;
  if (cancellation->is_cancelled(cancellation->user))
    atomic_store_explicit(&cancellation->answer, 1, memory_order_relaxed);
  cancellation->asked = now();
}

int64_t polyattn_rt_next_chunk(polyattn_rt_pace *pace) {
  polyattn_rt_cancellation *cancellation = pace->cancellation;
  if (!cancellation)
    return INT64_MAX;
  if (polyattn_rt_was_cancelled(cancellation))
    return 0;
  int64_t time = now(), taken = time - pace->began;
  ask(cancellation, time);
  if (polyattn_rt_was_cancelled(cancellation))
    return 0;
  if (pace->limit == 0)
    pace->limit = 1;
  else if (taken < SHORT_CHUNK && pace->limit < LARGEST_CHUNK)
    pace->limit *= GROWTH;
  else if (taken > LONG_CHUNK)
    pace->limit = pace->limit * SHORT_CHUNK / taken + 1;
  pace->began = time;
  return pace->limit;
}

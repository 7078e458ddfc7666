/*===- idle.c - waiting without sleeping ----------------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* A thread that sleeps takes 70 to 100 us to come back, more than many calls last. One that
 * spins keeps a processor from others: after a short time it offers its processor to whoever
 * waits for one, perhaps a colleague that has work, and then it sleeps. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NANOSECONDS 20000
#define YIELD_NANOSECONDS 200000
/* About a microsecond: asking for the time takes much less. */
#define PAUSES 30

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int polyattn_rt_wait_awake(polyattn_rt_condition happened, const void *context) {
  int64_t start = now();
  while (1) {
    for (int i = 0; i < PAUSES; ++i) {
      if (happened(context))
        return 1;
      relax();
    }
    int64_t waited = now() - start;
    if (waited > YIELD_NANOSECONDS)
      return happened(context);
    if (waited > PAUSE_NANOSECONDS)
      sched_yield();
  }
}

int polyattn_rt_processors(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
#endif
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

/*===- parallel.h - whose threads a call runs on ----------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* C99. The compiler copies this text into the header of every shared library
 * that it writes, so it includes nothing of the project; the guard lets several such
 * headers meet in one file. */
#ifndef POLYATTN_PARALLEL_H
#define POLYATTN_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

/* One call of a parallel loop's body: it neither throws nor waits for another one. */
typedef void (*polyattn_task)(void *context, int64_t index);
/* An application's own parallel loop: calls task(context, i) once for every 0 <= i < count, in any
 * order and on any threads, the caller's or others, and returns when all have returned. It need
 * not run them at the same time: the first ones take over what later ones find done. So
 * inside a parallel region of the application, where there are no more threads, it may run them one
 * after the other. */
typedef void (*polyattn_parallel_for)(void *user, int64_t count, polyattn_task task, void *context);

/* Whether the caller has cancelled a call: 0 to go on, anything else to end it. Only the thread
 * that made the call asks, so a function needs no lock for what that thread alone reads and writes;
 * a flag that another thread sets is an atomic one. It may take its time (the call waits), may make
 * calls of its own, and does not throw. After the first answer other than 0 it is not asked again,
 * and the call fails as cancelled even where its work was done. */
typedef int (*polyattn_call_cancelled)(void *user);

/* How to run one call. Start from POLYATTN_CALL_OPTIONS_INIT. */
typedef struct polyattn_call_options {
  size_t struct_size;                 /* sizeof(polyattn_call_options): later versions add fields */
  int32_t threads;                    /* at least 1; the caller's is one of them */
  polyattn_parallel_for parallel_for; /* null: what has been set for all calls, else our threads */
  void *user;                         /* handed to parallel_for */
  /* Fields from here on are read where struct_size says that they are there. */
  polyattn_call_cancelled is_cancelled; /* null: a call runs to its end. Asked between programs,
                                         about every 50 ms; a call that is shorter does not ask.
                                         After a cancelled call the numbers in its results are
                                         undefined, also in results that live in arguments: of a
                                         pool of states those in the slots that the call names. */
  void *cancelled_user;                 /* handed to is_cancelled */
} polyattn_call_options;
/* One thread, of the library's pool. */
#ifdef __cplusplus
#define POLYATTN_CALL_OPTIONS_INIT                                                                 \
  {sizeof(polyattn_call_options), 1, nullptr, nullptr, nullptr, nullptr}
#else
#define POLYATTN_CALL_OPTIONS_INIT {sizeof(polyattn_call_options), 1, NULL, NULL, NULL, NULL}
#endif

#endif /* POLYATTN_PARALLEL_H */

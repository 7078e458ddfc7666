/*===- scratch.c - memory that a thread keeps between launches ------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>

#define ALIGNMENT 64

/* What a thread keeps. A launch has both at once. */
enum { SCRATCH, WORKSPACES, USES };

/* The most bytes of each. More is given back: calls that take so much are long. Below it, clearing
 * fresh pages took as long as a convolution that they were for. */
#define MAX_KEPT (INT64_C(64) << 20)

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_exists;

static void free_buffers(void *kept) {
  polyattn_rt_buffer *buffers = kept;
  for (int use = 0; use < USES; ++use)
    free(buffers[use].data);
  free(buffers);
}

static void create_key(void) { key_exists = pthread_key_create(&key, free_buffers) == 0; }

/* A library that is unloaded must not leave a destructor behind. The priority puts this after
 * the end of the pool's threads, which free their scratch through the key. */
__attribute__((destructor(200))) static void delete_key(void) {
  if (!key_exists)
    return;
  polyattn_rt_buffer *buffers = pthread_getspecific(key);
  if (buffers)
    free_buffers(buffers);
  pthread_key_delete(key);
  key_exists = 0;
}

/* The calling thread's buffers, or NULL where there are none. */
static polyattn_rt_buffer *find_buffers(void) {
  return key_exists ? pthread_getspecific(key) : NULL;
}

static int acquire(int use, int64_t bytes, polyattn_rt_buffer *buffer) {
  buffer->data = NULL;
  buffer->bytes = 0;
  if (bytes <= 0)
    return 0;
  pthread_once(&once, create_key);
  /* The kept buffer is taken out: a launch from within a launch gets another one. */
  polyattn_rt_buffer *buffers = find_buffers();
  polyattn_rt_buffer *kept = buffers ? &buffers[use] : NULL;
  if (kept && kept->bytes >= bytes) {
    *buffer = *kept;
    kept->data = NULL;
    kept->bytes = 0;
    return 0;
  }
  if (bytes > INT64_MAX - ALIGNMENT)
    return 1;
  int64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  buffer->data = aligned_alloc(ALIGNMENT, (size_t)rounded);
  buffer->bytes = buffer->data ? rounded : 0;
  return buffer->data == NULL;
}

static void release(int use, polyattn_rt_buffer buffer) {
  if (!buffer.data)
    return;
  if (buffer.bytes > MAX_KEPT) {
    free(buffer.data);
    return;
  }
  polyattn_rt_buffer *buffers = find_buffers();
  if (key_exists && !buffers) {
    buffers = calloc(USES, sizeof *buffers);
    if (buffers && pthread_setspecific(key, buffers) != 0) {
      free(buffers);
      buffers = NULL;
    }
  }
  if (!buffers || buffers[use].bytes >= buffer.bytes) {
    free(buffer.data);
    return;
  }
  free(buffers[use].data);
  buffers[use] = buffer;
}

int polyattn_rt_scratch_acquire(int64_t bytes, polyattn_rt_buffer *buffer) {
  return acquire(SCRATCH, bytes, buffer);
}

void polyattn_rt_scratch_release(polyattn_rt_buffer buffer) { release(SCRATCH, buffer); }

int polyattn_rt_workspaces_acquire(int64_t bytes, polyattn_rt_buffer *buffer) {
  return acquire(WORKSPACES, bytes, buffer);
}

void polyattn_rt_workspaces_release(polyattn_rt_buffer buffer) { release(WORKSPACES, buffer); }

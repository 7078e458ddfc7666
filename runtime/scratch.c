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

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_exists;

static void free_buffer(void *kept) {
  polyattn_rt_buffer *buffer = kept;
  free(buffer->data);
  free(buffer);
}

static void create_key(void) { key_exists = pthread_key_create(&key, free_buffer) == 0; }

/* A library that is unloaded must not leave a destructor behind. The priority puts this after
 * the end of the pool's threads, which free their scratch through the key. */
__attribute__((destructor(200))) static void delete_key(void) {
  if (!key_exists)
    return;
  polyattn_rt_buffer *buffer = pthread_getspecific(key);
  if (buffer)
    free_buffer(buffer);
  pthread_key_delete(key);
  key_exists = 0;
}

int polyattn_rt_scratch_acquire(int64_t bytes, polyattn_rt_buffer *buffer) {
  buffer->data = NULL;
  buffer->bytes = 0;
  if (bytes <= 0)
    return 0;
  pthread_once(&once, create_key);
  /* The kept buffer is taken out: a launch from within a launch gets another one. */
  polyattn_rt_buffer *kept = key_exists ? pthread_getspecific(key) : NULL;
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

void polyattn_rt_scratch_release(polyattn_rt_buffer buffer) {
  if (!buffer.data)
    return;
  polyattn_rt_buffer *kept = key_exists ? pthread_getspecific(key) : NULL;
  if (key_exists && !kept) {
    kept = calloc(1, sizeof *kept);
    if (kept && pthread_setspecific(key, kept) != 0) {
      free(kept);
      kept = NULL;
    }
  }
  if (!kept || kept->bytes >= buffer.bytes) {
    free(buffer.data);
    return;
  }
  free(kept->data);
  *kept = buffer;
}

/*===- decode.c - sequences that go on in a pool of states, from C --------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Usage: polyattn-example-decode SPEC.mlir ENTRY, where the entry's tensors hold f32.
 *
 * Two sequences get a prompt of five tokens in one call, which leaves their states in two slots of
 * a pool, then seven tokens one by one, in calls that update the states where they are. A row of
 * padding comes with each call and touches no slot. What comes out is compared with that of calls
 * with all twelve tokens at once. */

#include "polyattn-c/polyattn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 64, ROWS = 3, POOL = 4, HEADS = 2, PROMPT = 5, TOKENS = 12 };

static polyattn_kernel *kernel;
static size_t count;
static polyattn_tensor_info infos[MOST_TENSORS];
static float *data[MOST_TENSORS]; /* sequences of TOKENS positions, pools, weights */

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  exit(1);
}

static int is(size_t tensor, const char *role) {
  return strcmp(polyattn_kernel_tensor_role(kernel, tensor), role) == 0;
}

static int64_t size_of(int64_t size, int64_t positions) {
  return size >= 0                                              ? size
         : size == POLYATTN_SIZE_B                              ? ROWS
         : size == POLYATTN_SIZE_P                              ? POOL
         : size == POLYATTN_SIZE_H || size == POLYATTN_SIZE_HKV ? HEADS
                                                                : positions;
}

/* A tensor for calls of so many positions. Those of whole sequences have it from `begin` on: a
 * call sees a part of them by its strides. */
static polyattn_tensor view(size_t tensor, int64_t begin, int64_t positions) {
  int64_t sizes[POLYATTN_MAX_RANK], stride = 1;
  polyattn_tensor made;
  int32_t d;
  for (d = 0; d < infos[tensor].rank; ++d)
    sizes[d] = size_of(infos[tensor].sizes[d], positions);
  made = polyattn_dense(data[tensor], infos[tensor].dtype, infos[tensor].rank, sizes);
  for (d = infos[tensor].rank - 1; d >= 0; --d) {
    made.strides[d] = stride;
    if (infos[tensor].sizes[d] == POLYATTN_SIZE_T)
      made.data = data[tensor] + begin * stride;
    stride *= size_of(infos[tensor].sizes[d], TOKENS);
  }
  return made;
}

/* Numbers between -0.5 and 0.5 that look random; a result in an argument has its memory. */
static void allocate(size_t tensor) {
  int64_t elements = 1, i;
  int64_t place = polyattn_kernel_tensor_place(kernel, tensor);
  uint32_t seed = (uint32_t)tensor + 1;
  for (i = 0; i < infos[tensor].rank; ++i)
    elements *= size_of(infos[tensor].sizes[i], TOKENS);
  if (place >= 0) {
    data[tensor] = data[place];
    return;
  }
  data[tensor] = calloc((size_t)elements + 1, sizeof(float));
  if (!data[tensor])
    fail("out of memory");
  for (i = 0; i < elements && !infos[tensor].is_result; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[tensor][i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
}

/* Tokens [begin, end) of both sequences, whose states are in `slots`. */
static void run(int64_t begin, int64_t end, const int32_t *slots) {
  const int64_t rows = ROWS;
  int64_t first[ROWS] = {begin, begin, 0};
  int32_t lengths[ROWS] = {(int32_t)(end - begin), (int32_t)(end - begin), 0};
  polyattn_tensor tensors[MOST_TENSORS];
  polyattn_error *error = NULL;
  size_t i;
  for (i = 0; i < count; ++i)
    tensors[i] = is(i, "slots")            ? polyattn_dense((void *)slots, POLYATTN_I32, 1, &rows)
                 : is(i, "lengths")        ? polyattn_dense(lengths, POLYATTN_I32, 1, &rows)
                 : is(i, "first_position") ? polyattn_dense(first, POLYATTN_I64, 1, &rows)
                                           : view(i, begin, end - begin);
  if (polyattn_kernel_run(kernel, tensors, count, /*threads=*/2, &error) != 0)
    fail(polyattn_error_message(error));
}

int main(int argc, char **argv) {
  static const int32_t slots[ROWS] = {3, 1, -1}, others[ROWS] = {0, 2, -1};
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_error *error = NULL;
  double difference = 0, size = 0;
  int64_t elements = 1, i, token;
  float *steps;
  size_t output;
  if (argc != 3)
    fail("usage: polyattn-example-decode SPEC.mlir ENTRY");
  options.entry = argv[2];
  options.direction = "decode";
  kernel = polyattn_compile_file(argv[1], &options, &error);
  if (!kernel)
    fail(polyattn_error_message(error));
  count = polyattn_kernel_num_tensors(kernel);
  if (count > MOST_TENSORS)
    fail("too many tensors");
  for (output = count; output-- > 0;)
    polyattn_kernel_tensor(kernel, output, &infos[output]);
  for (i = 0; i < (int64_t)count; ++i) {
    allocate((size_t)i);
    if (is((size_t)i, "output"))
      output = (size_t)i;
  }
  if (infos[output].dtype != POLYATTN_F32)
    fail("expected an entry whose tensors hold f32");

  run(0, PROMPT, slots);
  for (token = PROMPT; token < TOKENS; ++token)
    run(token, token + 1, slots);
  for (i = 0; i < infos[output].rank; ++i)
    elements *= size_of(infos[output].sizes[i], TOKENS);
  steps = data[output];
  data[output] = calloc((size_t)elements, sizeof(float));
  if (!data[output])
    fail("out of memory");
  run(0, TOKENS, others);
  for (i = 0; i < elements; ++i) {
    difference += (steps[i] - data[output][i]) * (steps[i] - data[output][i]);
    size += data[output][i] * data[output][i];
  }
  printf("%s: a prompt of %d tokens and %d single ones differ from %d at once by %.1e\n",
         polyattn_kernel_entry(kernel), PROMPT, TOKENS - PROMPT, TOKENS, sqrt(difference / size));
  free(steps);
  for (i = 0; i < (int64_t)count; ++i)
    if (polyattn_kernel_tensor_place(kernel, (size_t)i) < 0)
      free(data[i]);
  polyattn_kernel_destroy(kernel);
  return sqrt(difference / size) < 1e-5 ? 0 : 1;
}

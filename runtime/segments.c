/*===- segments.c - heads that are cut by positions ---------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* With fewer heads than processors, several programs share a head: what the keys of a segment add
 * to the state is summed up first, for all segments at once, and each segment then begins with the
 * sums of those before it: a prefix over states. That is more work in all, so the number of
 * segments follows from the threads that the caller gives. */
#include "runtime.h"

#include <stdlib.h>

/* Every segment adds up the sums of those before it. */
#define MAX_SEGMENTS 32
/* What the sums may take. */
#define MAX_SUM_BYTES ((int64_t)32 << 20)
/* Shorter segments would be all beginning and end. */
#define MIN_BLOCKS 8
/* What is left of the time must be less: the model has no memory and no waiting in it. */
#define WORTHWHILE 0.9

static int64_t divide_up(int64_t number, int64_t by) { return (number + by - 1) / by; }

static int64_t elements_of(const polyattn_rt_sum_shape *shape) {
  int64_t count = 1;
  for (int64_t i = 0; i < shape->rank; ++i)
    count *= shape->sizes[i];
  return count;
}

/* Of one piece, or -1 where it is more than is allowed for all. */
static int64_t sum_bytes(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes) {
  int64_t heads = polyattn_rt_count_programs(&kernel->stages[0], sizes, 1), bytes = 0;
  for (int64_t i = 0; i < kernel->segments.num_sums; ++i) {
    int64_t own;
    if (heads < 0 || __builtin_mul_overflow(heads, elements_of(&kernel->segments.sums[i]), &own) ||
        own > MAX_SUM_BYTES)
      return -1;
    bytes += polyattn_rt_round_up(own * (int64_t)sizeof(float));
  }
  return bytes;
}

int64_t polyattn_rt_choose_segments(const polyattn_rt_kernel *kernel,
                                    const polyattn_rt_sizes *sizes, int64_t threads) {
  const polyattn_rt_segment_rule *rule = &kernel->segments;
  int64_t programs = polyattn_rt_count_programs(&kernel->stages[1], sizes, 1);
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_RT_T), bytes = sum_bytes(kernel, sizes);
  if (positions < rule->from || programs < 1 || threads < 2 * programs || bytes < 0)
    return 1;
  int64_t units = divide_up(positions, rule->unit);
  int64_t shortest = divide_up(MIN_BLOCKS * rule->block, rule->unit);
  int64_t most = threads / programs < MAX_SEGMENTS ? threads / programs : MAX_SEGMENTS;
  if (most > units / shortest)
    most = units / shortest;
  if (bytes > 0 && most > MAX_SUM_BYTES / bytes / rule->pieces + 1)
    most = MAX_SUM_BYTES / bytes / rule->pieces + 1;
  if (most < 2)
    return 1;
  /* Of two numbers that give the same length the smaller one. */
  int64_t segments = divide_up(units, divide_up(units, most));
  /* A thread for each segment sums up so many pieces. */
  int64_t rounds = divide_up((segments - 1) * rule->pieces, segments);
  double sums = (double)(rule->sums_percent * rounds) / (double)(100 * rule->pieces);
  double left = (1 + sums) / (double)segments;
  return left < WORTHWHILE ? segments : 1;
}

/* Of all sums of one kind, and of sums that are not too many. */
static int64_t bytes_of(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes,
                        int64_t index, int64_t count) {
  int64_t programs = polyattn_rt_count_programs(&kernel->stages[0], sizes, count);
  int64_t elements = programs * elements_of(&kernel->segments.sums[index]);
  return polyattn_rt_round_up(elements * (int64_t)sizeof(float));
}

/* Their shape. */
static int64_t shape_of(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes,
                        int64_t index, int64_t count, int64_t *shape) {
  const polyattn_rt_sum_shape *own = &kernel->segments.sums[index];
  shape[0] = count;
  shape[1] = polyattn_rt_size(sizes, kernel->stages[0].factors[0]);
  shape[2] = polyattn_rt_size(sizes, kernel->stages[0].factors[1]);
  for (int64_t i = 0; i < own->rank; ++i)
    shape[3 + i] = own->sizes[i];
  return 3 + own->rank;
}

int polyattn_rt_run_segments(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes,
                             void *const *descriptors, const polyattn_rt_team *team) {
  int64_t segments = polyattn_rt_choose_segments(kernel, sizes, team->threads);
  int64_t count = (segments - 1) * kernel->segments.pieces, num_sums = kernel->segments.num_sums;
  int64_t pointer_bytes =
      polyattn_rt_round_up((kernel->num_tensors + num_sums) * (int64_t)sizeof(void *));
  int64_t memref_bytes = polyattn_rt_round_up(num_sums * (int64_t)sizeof(polyattn_rt_memref));
  int64_t data_bytes = 0;
  for (int64_t i = 0; i < num_sums; ++i)
    data_bytes += bytes_of(kernel, sizes, i, count);
  char *memory = aligned_alloc(64, (size_t)(pointer_bytes + memref_bytes + data_bytes));
  if (!memory)
    return 1;
  void **pointers = (void **)memory;
  polyattn_rt_memref *sums = (polyattn_rt_memref *)(memory + pointer_bytes);
  char *data = memory + pointer_bytes + memref_bytes;
  for (int64_t i = 0; i < kernel->num_tensors; ++i)
    pointers[i] = descriptors[i];
  for (int64_t i = 0; i < num_sums; ++i) {
    int64_t shape[POLYATTN_MAX_RANK], rank = shape_of(kernel, sizes, i, count, shape);
    polyattn_rt_describe_dense(count > 0 ? data : NULL, rank, shape, &sums[i]);
    pointers[kernel->num_tensors + i] = &sums[i];
    data += bytes_of(kernel, sizes, i, count);
  }
  int status = 0;
  for (int64_t i = 0; i < 2 && status == 0; ++i) {
    int64_t times = i ? segments : count;
    int64_t programs = polyattn_rt_count_programs(&kernel->stages[i], sizes, times);
    if (times > 0)
      status = polyattn_rt_run_stage(&kernel->stages[i], pointers, programs, team);
  }
  free(memory);
  return status;
}

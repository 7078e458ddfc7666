/*===- split.c - heads that are cut by features ----------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* With fewer heads than processors, several programs share a head: each holds a part of the
 * state for the whole sequence and writes its part of the sums; then the sums are added. The
 * sums of a long sequence would take too much memory, so it is cut into segments. The
 * number of parts follows from the sizes and the machine, never from the number of threads:
 * results do not depend on that. */
#include "generated_code.h"
#include "runtime.h"

#include <stdlib.h>
#include <unistd.h>

/* What the sums of one segment may take. */
#define MAX_SUM_BYTES ((int64_t)8 << 20)
#define MAX_PARTS 16

typedef struct launch_numbers {
  int64_t part, parts, base;
} launch_numbers;

/* The tensors of one part: the entry's, its sums and its numbers. */
typedef struct part_tensors {
  void **pointers;
  polyattn_rt_memref sums, numbers;
  launch_numbers launch;
} part_tensors;

typedef struct split_work {
  polyattn_rt_function function;
  part_tensors *parts;
  int64_t num_parts;
  char *scratch; /* of each program and part, or NULL for the threads' own */
  int64_t scratch_bytes;
} split_work;

POLYATTN_CALLS_GENERATED_CODE
static void run_parts(void *context, int64_t begin, int64_t end, void *scratch) {
  const split_work *work = context;
  if (work->num_parts == 1) {
    work->function(work->parts[0].pointers, begin, end, scratch);
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t program = i / work->num_parts, part = i % work->num_parts;
    void *own = work->scratch ? work->scratch + i * work->scratch_bytes : scratch;
    work->function(work->parts[part].pointers, program, program + 1, own);
  }
}

static int64_t choose_parts(const polyattn_rt_split_rule *rule, int64_t programs,
                            int64_t positions) {
  if (positions < rule->from || positions < 4 * rule->segment || programs < 1)
    return 1;
  /* Asked last: the answer comes from a file, which takes as long as a short call. */
  int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (processors <= programs)
    return 1;
  int64_t parts = (processors + programs - 1) / programs;
  if (parts > rule->max_parts)
    parts = rule->max_parts;
  return parts < MAX_PARTS ? parts : MAX_PARTS;
}

/* Positions in one call: as many segments as fit the memory for sums. */
static int64_t choose_length(const polyattn_rt_split_rule *rule, int64_t parts, int64_t programs,
                             int64_t positions) {
  int64_t bytes = parts * programs * rule->columns * (int64_t)sizeof(float) * rule->segment;
  int64_t segments = MAX_SUM_BYTES / bytes;
  int64_t length = (segments > 0 ? segments : 1) * rule->segment;
  return length < positions ? length : positions;
}

/* The rows [start, start + length) of a tensor: of its dimension of positions, if it has one. */
static void cut(const polyattn_rt_tensor_rule *rule, const polyattn_rt_memref *whole, int64_t start,
                int64_t length, polyattn_rt_memref *piece) {
  *piece = *whole;
  for (int64_t i = 0; i < rule->rank; ++i) {
    if (rule->sizes[i] != POLYATTN_RT_T && rule->sizes[i] != POLYATTN_RT_TK)
      continue;
    piece->dimensions[i] = length;
    piece->offset += start * whole->dimensions[rule->rank + i];
  }
}

/* All memory of a launch, in one piece. */
typedef struct workspace {
  polyattn_rt_memref *tensors; /* of the segment */
  part_tensors *parts;
  void **pointers;
  float *sums;
  char *scratch;
} workspace;

static void *allocate(workspace *space, int64_t num_tensors, int64_t parts, int64_t sum_bytes,
                      int64_t scratch_bytes) {
  int64_t tensors = polyattn_rt_round_up(num_tensors * (int64_t)sizeof(polyattn_rt_memref));
  int64_t part_bytes = polyattn_rt_round_up(parts * (int64_t)sizeof(part_tensors));
  int64_t pointers = polyattn_rt_round_up(parts * (num_tensors + 2) * (int64_t)sizeof(void *));
  int64_t sums = polyattn_rt_round_up(sum_bytes);
  char *memory =
      aligned_alloc(64, (size_t)(tensors + part_bytes + pointers + sums + scratch_bytes));
  if (!memory)
    return NULL;
  space->tensors = (polyattn_rt_memref *)memory;
  space->parts = (part_tensors *)(memory + tensors);
  space->pointers = (void **)(memory + tensors + part_bytes);
  space->sums = (float *)(memory + tensors + part_bytes + pointers);
  space->scratch = memory + tensors + part_bytes + pointers + sums;
  return memory;
}

static void bind_parts(const polyattn_rt_kernel *kernel, const workspace *space, int64_t parts) {
  int64_t stride = kernel->num_tensors + 2;
  const int64_t three = 3;
  for (int64_t part = 0; part < parts; ++part) {
    part_tensors *own = &space->parts[part];
    own->pointers = space->pointers + part * stride;
    for (int64_t i = 0; i < kernel->num_tensors; ++i)
      own->pointers[i] = &space->tensors[i];
    own->pointers[kernel->num_tensors] = &own->sums;
    own->pointers[kernel->num_tensors + 1] = &own->numbers;
    own->launch.part = part;
    own->launch.parts = parts;
    own->launch.base = 0;
    polyattn_rt_describe_dense(&own->launch, 1, &three, &own->numbers);
  }
}

/* The positions [start, start + length), all stages. */
static int run_segment(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes,
                       const polyattn_rt_memref *descriptors, const workspace *space, int64_t parts,
                       int64_t start, int64_t length, const polyattn_rt_team *team) {
  int64_t batch = polyattn_rt_size(sizes, POLYATTN_RT_B),
          heads = polyattn_rt_size(sizes, POLYATTN_RT_H);
  int64_t all[5] = {parts, batch, length, heads, kernel->split.columns};
  int64_t part_elements = batch * length * heads * kernel->split.columns;
  for (int64_t i = 0; i < kernel->num_tensors; ++i)
    cut(&kernel->tensors[i], &descriptors[i], start, length, &space->tensors[i]);
  for (int64_t part = 0; part < parts; ++part) {
    space->parts[part].launch.base = start;
    float *sums = parts > 1 ? space->sums + part * part_elements : NULL;
    polyattn_rt_describe_dense(sums, 4, all + 1, &space->parts[part].sums);
  }
  int64_t scratch = polyattn_rt_round_up(kernel->stages[0].scratch_bytes);
  split_work work = {kernel->stages[0].function, space->parts, parts,
                     parts > 1 ? space->scratch : NULL, scratch};
  if (polyattn_rt_parallel(run_parts, &work, batch * heads * parts, team,
                           parts > 1 ? 0 : scratch) != 0)
    return 1;
  if (parts == 1)
    return 0;
  for (int64_t part = 0; part < parts; ++part)
    polyattn_rt_describe_dense(space->sums, 5, all, &space->parts[part].sums);
  work.function = kernel->stages[1].function;
  work.scratch = NULL;
  return polyattn_rt_parallel(run_parts, &work, batch * heads * parts, team,
                              kernel->stages[1].scratch_bytes);
}

int polyattn_rt_run_split(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes,
                          const polyattn_rt_memref *descriptors, const polyattn_rt_team *team) {
  int64_t programs =
      polyattn_rt_size(sizes, POLYATTN_RT_B) * polyattn_rt_size(sizes, POLYATTN_RT_H);
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_RT_T);
  int64_t parts = choose_parts(&kernel->split, programs, positions);
  int64_t length = positions, sum_bytes = 0, scratch_bytes = 0, start = 0;
  if (parts > 1) {
    length = choose_length(&kernel->split, parts, programs, positions);
    sum_bytes = parts * programs * length * kernel->split.columns * (int64_t)sizeof(float);
    scratch_bytes = parts * programs * polyattn_rt_round_up(kernel->stages[0].scratch_bytes);
  }
  workspace space;
  void *memory = allocate(&space, kernel->num_tensors, parts, sum_bytes, scratch_bytes);
  if (!memory)
    return 1;
  bind_parts(kernel, &space, parts);
  int status;
  /* Once even where there are no positions: the final state is then the initial one. */
  do {
    int64_t left = positions - start, count = left < length ? left : length;
    status = run_segment(kernel, sizes, descriptors, &space, parts, start, count, team);
    start += count;
  } while (status == 0 && start < positions);
  free(memory);
  return status;
}

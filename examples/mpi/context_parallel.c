/*===- context_parallel.c - one sequence over several processes -----------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Usage: mpirun -n 4 polyattn-example-mpi SPEC.mlir ENTRY T, where the entry has initial and final
 * states and its tensors hold f32.
 *
 * Each process has a segment of a sequence of T positions. It computes what the segment adds to the
 * states, all processes hand that around once, and each combines what came before its own: the
 * initial states of its forward call. Backwards the same goes for the gradients of the states, from
 * the last segment to the first. The first process then computes the whole sequence alone and
 * compares. */

#include "polyattn-c/polyattn.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 64, HEADS = 4 };

/* A kernel with its tensors, for T positions from `begin` on. */
typedef struct call {
  polyattn_kernel *kernel;
  size_t count;
  polyattn_tensor_info infos[MOST_TENSORS];
  polyattn_tensor tensors[MOST_TENSORS];
} call;

/* What a process computes: the pair of directions, and what segments compose by. */
typedef struct segment {
  int64_t begin, end;
  call forward, backward, states, gradients;
} segment;

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

/*===--- Calls ------------------------------------------------------------===*/

static int64_t elements(const polyattn_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    count *= tensor->sizes[i];
  return count;
}

static const char *role_of(const call *of, size_t index) {
  return polyattn_kernel_tensor_role(of->kernel, index);
}

static int has_positions(const polyattn_tensor_info *info) {
  for (int32_t i = 0; i < info->rank; ++i)
    if (info->sizes[i] == POLYATTN_SIZE_T || info->sizes[i] == POLYATTN_SIZE_TK)
      return 1;
  return 0;
}

static void compile(call *made, const char *spec, const char *entry, const char *direction) {
  polyattn_error *error = NULL;
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options.entry = entry;
  options.direction = direction;
  made->kernel = polyattn_compile_file(spec, &options, &error);
  if (!made->kernel)
    fail(polyattn_error_message(error));
  made->count = polyattn_kernel_num_tensors(made->kernel);
  if (made->count > MOST_TENSORS)
    fail("too many tensors");
  for (size_t i = 0; i < made->count; ++i)
    polyattn_kernel_tensor(made->kernel, i, &made->infos[i]);
}

/* A dense tensor of zeros, B = 1. */
static polyattn_tensor allocate(const polyattn_tensor_info *info, int64_t positions) {
  int64_t sizes[POLYATTN_MAX_RANK];
  polyattn_tensor tensor;
  if (info->dtype != POLYATTN_F32)
    fail("expected an entry whose tensors hold f32");
  for (int32_t i = 0; i < info->rank; ++i) {
    int64_t size = info->sizes[i];
    sizes[i] = size >= 0                                              ? size
               : size == POLYATTN_SIZE_B                              ? 1
               : size == POLYATTN_SIZE_H || size == POLYATTN_SIZE_HKV ? HEADS
                                                                      : positions;
  }
  tensor = polyattn_dense(NULL, info->dtype, info->rank, sizes);
  tensor.data = calloc((size_t)elements(&tensor) + 1, sizeof(float));
  if (!tensor.data)
    fail("out of memory");
  return tensor;
}

static void run(call *called) {
  polyattn_error *error = NULL;
  if (polyattn_kernel_run(called->kernel, called->tensors, called->count, 1, &error) != 0)
    fail(polyattn_error_message(error));
}

static polyattn_tensor *find(call *where, const char *name) {
  for (size_t i = 0; i < where->count; ++i)
    if (strcmp(where->infos[i].name, name) == 0)
      return &where->tensors[i];
  return NULL;
}

/*===--- Numbers ----------------------------------------------------------===*/

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Numbers between -0.5 and 0.5 that follow from the name and from where they stand in the whole
 * sequence, so that every process has the same ones. Gates let nearly all pass, and states are
 * positive, as sums of features are. */
static void fill(const polyattn_tensor *tensor, const polyattn_tensor_info *info, const char *role,
                 int64_t begin) {
  float *data = (float *)tensor->data;
  uint64_t name = 1469598103934665603u, first = 0;
  for (const char *c = info->name; *c; ++c)
    name = (name ^ (uint64_t)*c) * 1099511628211u;
  if (has_positions(info) && tensor->sizes[1] > 0)
    first = (uint64_t)(begin * (elements(tensor) / tensor->sizes[1]));
  for (int64_t i = 0, count = elements(tensor); i < count; ++i) {
    float x = (float)(mix(name + mix(first + (uint64_t)i)) >> 40) / 16777216.0f - 0.5f;
    data[i] = strcmp(role, "decay") == 0   ? -0.02f * fabsf(x)
              : strcmp(role, "state") == 0 ? fabsf(x)
                                           : x;
  }
}

/*===--- One process ------------------------------------------------------===*/

/* Tensors that a call before has, by their names, and new ones. */
static void bind(segment *own, call *called, call *const *before, size_t count) {
  for (size_t i = 0; i < called->count; ++i) {
    polyattn_tensor *known = NULL;
    for (size_t j = 0; j < count && !known; ++j)
      known = called->infos[i].is_result ? NULL : find(before[j], called->infos[i].name);
    called->tensors[i] = known ? *known : allocate(&called->infos[i], own->end - own->begin);
    if (!known && !called->infos[i].is_result)
      fill(&called->tensors[i], &called->infos[i], role_of(called, i), own->begin);
  }
}

static void compile_all(segment *own, const char *spec, const char *entry) {
  call *const none = NULL;
  call *forward[] = {&own->forward}, *both[] = {&own->forward, &own->backward};
  compile(&own->forward, spec, entry, "training");
  compile(&own->backward, spec, entry, "backward");
  compile(&own->states, spec, entry, "states");
  compile(&own->gradients, spec, entry, "gradient_states");
  bind(own, &own->forward, &none, 0);
  bind(own, &own->backward, forward, 1);
  bind(own, &own->states, forward, 1);
  bind(own, &own->gradients, both, 2);
}

/* The `n`th state among the arguments or the results, its normalizer being the next one; null where
 * there are fewer. Decays of segments are none. */
static polyattn_tensor *state_of(call *where, int is_result, size_t n) {
  for (size_t i = 0; i < where->count; ++i)
    if (where->infos[i].is_result == is_result && strcmp(role_of(where, i), "state") == 0 &&
        strncmp(where->infos[i].name, "decay", 5) != 0 && n-- == 0)
      return &where->tensors[i];
  return NULL;
}

/* The gradient in the `n`th final state that the backward call takes. */
static polyattn_tensor *gradient_of_final(segment *own, size_t n) {
  polyattn_tensor *final = state_of(&own->forward, 1, n);
  for (size_t i = 0; final && i < own->backward.count; ++i) {
    const char *origin = polyattn_kernel_tensor_origin(own->backward.kernel, i);
    if (!own->backward.infos[i].is_result && *origin && find(&own->forward, origin) == final)
      return &own->backward.tensors[i];
  }
  return NULL;
}

/*===--- Between processes ------------------------------------------------===*/

/* All segments' tensors, one behind the other. */
static float *gather(const polyattn_tensor *own, int ranks, double *bytes) {
  int count = (int)elements(own);
  float *all = malloc(sizeof(float) * ((size_t)count * (size_t)ranks + 1));
  if (!all)
    fail("out of memory");
  MPI_Allgather(own->data, count, MPI_FLOAT, all, count, MPI_FLOAT, MPI_COMM_WORLD);
  *bytes += sizeof(float) * (double)count;
  return all;
}

/* state <- after + decay state, of the segment `at`. */
static void add(polyattn_tensor *state, const float *decays, const float *after, int at) {
  polyattn_error *error = NULL;
  polyattn_tensor of_segment = *state, decay;
  int64_t sizes[2] = {1, HEADS};
  of_segment.data = (void *)(after + (size_t)at * (size_t)elements(state));
  if (decays)
    decay = polyattn_dense((void *)(decays + (size_t)at * HEADS), POLYATTN_F32, 2, sizes);
  if (polyattn_state_combine(state, decays ? &decay : NULL, &of_segment, state, &error) != 0)
    fail(polyattn_error_message(error));
}

/* The decays of all segments; null without decays. */
static float *compute_states(segment *own, int ranks, double *bytes) {
  polyattn_tensor *before = find(&own->states, "decay_before"), *decay;
  for (int64_t i = 0; before && i < elements(before); ++i)
    ((float *)before->data)[i] = 1;
  run(&own->states);
  decay = find(&own->states, "decay");
  return decay ? gather(decay, ranks, bytes) : NULL;
}

static void forward(segment *own, int rank, int ranks, const float *decays, double *bytes) {
  for (size_t n = 0; state_of(&own->forward, 0, n); ++n) {
    float *all = gather(state_of(&own->states, 1, n), ranks, bytes);
    for (int before = 0; before < rank; ++before)
      add(state_of(&own->forward, 0, n), decays, all, before);
    free(all);
  }
  run(&own->forward);
}

static void backward(segment *own, int rank, int ranks, const float *decays, double *bytes) {
  size_t n = 0;
  run(&own->gradients);
  for (size_t i = 0; i < own->gradients.count; ++i) {
    float *all;
    if (!own->gradients.infos[i].is_result)
      continue;
    all = gather(&own->gradients.tensors[i], ranks, bytes);
    for (int after = ranks - 1; after > rank; --after)
      add(gradient_of_final(own, n), decays, all, after);
    free(all);
    ++n;
  }
  run(&own->backward);
}

/*===--- The check --------------------------------------------------------===*/

/* Compares a tensor of the whole sequence with what the processes have of it. */
static void compare(const call *own, size_t i, const call *whole, int rank, int ranks,
                    const int64_t *bounds, double *worst) {
  const polyattn_tensor_info *info = &own->infos[i];
  const polyattn_tensor *part = &own->tensors[i];
  int64_t total = bounds[ranks], row;
  int counts[64], begins[64];
  float *all;
  double difference = 0, norm = 0;
  /* Others than sequences: the last process has the final state, the first one the gradient of the
   * initial one, and those of weights are sums. */
  int is_sum = !has_positions(info) && info->rank < 3;
  int is_last = strcmp(role_of(own, i), "gradient") != 0;
  if (!has_positions(info)) {
    int count = (int)elements(part);
    all = malloc(sizeof(float) * ((size_t)count + 1));
    memcpy(all, part->data, sizeof(float) * (size_t)count);
    if (is_sum)
      MPI_Allreduce(part->data, all, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else
      MPI_Bcast(all, count, MPI_FLOAT, is_last ? ranks - 1 : 0, MPI_COMM_WORLD);
    row = count;
    total = 1;
  } else {
    row = bounds[rank + 1] > bounds[rank] ? elements(part) / (bounds[rank + 1] - bounds[rank]) : 0;
    MPI_Bcast(&row, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
      counts[r] = (int)((bounds[r + 1] - bounds[r]) * row);
      begins[r] = (int)(bounds[r] * row);
    }
    all = malloc(sizeof(float) * ((size_t)(total * row) + 1));
    MPI_Gatherv(part->data, counts[rank], MPI_FLOAT, all, counts, begins, MPI_FLOAT, 0,
                MPI_COMM_WORLD);
  }
  if (rank == 0) {
    const float *expected = (const float *)whole->tensors[i].data;
    for (int64_t j = 0; j < total * row; ++j) {
      difference += pow((double)all[j] - expected[j], 2);
      norm += pow(expected[j], 2);
    }
    difference = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
    printf("  %-16s relative difference %.1e\n", info->name, difference);
    if (!(difference <= *worst))
      *worst = difference;
  }
  free(all);
}

static void compare_all(const call *own, const call *whole, int rank, int ranks,
                        const int64_t *bounds, double *worst) {
  for (size_t i = 0; i < own->count; ++i)
    if (own->infos[i].is_result && strcmp(role_of(own, i), "saved") != 0)
      compare(own, i, whole, rank, ranks, bounds, worst);
}

int main(int argc, char **argv) {
  static segment own, whole;
  int64_t bounds[65];
  int rank, ranks;
  int64_t length;
  float *decays;
  double forward_bytes = 0, backward_bytes = 0, worst = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  length = argc == 4 ? strtoll(argv[3], NULL, 10) : 0;
  if (length < ranks || length > 1 << 20)
    fail("usage: polyattn-example-mpi SPEC.mlir ENTRY T, with T from the number of processes to "
         "2^20");
  if (ranks > 64)
    fail("expected at most 64 processes");
  for (int r = 0; r <= ranks; ++r)
    bounds[r] = length * r / ranks;
  own.begin = bounds[rank];
  own.end = bounds[rank + 1];
  compile_all(&own, argv[1], argv[2]);
  if (!state_of(&own.forward, 0, 0) || !gradient_of_final(&own, 0))
    fail("expected an entry with an initial and a final state");
  /* Every process has the state before the sequence, and the gradient in the one after it. */
  decays = compute_states(&own, ranks, &forward_bytes);
  forward(&own, rank, ranks, decays, &forward_bytes);
  backward(&own, rank, ranks, decays, &backward_bytes);

  if (rank == 0) {
    whole.end = bounds[ranks];
    compile_all(&whole, argv[1], argv[2]);
    run(&whole.forward);
    run(&whole.backward);
    printf("%d processes, T = %lld: each sends %.0f bytes forwards and %.0f backwards\n", ranks,
           (long long)whole.end, forward_bytes, backward_bytes);
  }
  compare_all(&own.forward, &whole.forward, rank, ranks, bounds, &worst);
  compare_all(&own.backward, &whole.backward, rank, ranks, bounds, &worst);
  if (rank == 0)
    printf("%s: one process computes the same\n", worst < 2e-5 ? "passed" : "failed");
  free(decays);
  MPI_Bcast(&worst, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst < 2e-5 ? 0 : 1;
}

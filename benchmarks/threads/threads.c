/*===- threads.c - threads alone and beside OpenMP ------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* threads SPEC ENTRY T THREADS [ROUNDS]: one call of an entry with B = 1 and H = 4, on one thread,
 * on our workers and on the OpenMP team, alone, right after a matrix product of the team, whose
 * threads then spin for milliseconds, and after a sleep. The process has as many processors
 * as threads, as a container would. Times are medians over the rounds. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): glibc's name */
#include <omp.h>
#include <polyattn-c/polyattn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIDE 512
#define MAX_TENSORS 16
#define MAX_ROUNDS 1000

static float a[4][SIDE][SIDE], b[4][SIDE][SIDE], c[4][SIDE][SIDE];

/* Four products, as an application's batched product of one layer would be. */
static void product(int threads) {
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
  for (int batch = 0; batch < 4; ++batch)
    for (int i = 0; i < SIDE; ++i) {
      memset(c[batch][i], 0, sizeof c[batch][i]);
      for (int k = 0; k < SIDE; k += 8)
        for (int j = 0; j < SIDE; ++j)
          c[batch][i][j] += a[batch][i][k] * b[batch][k][j];
    }
}

/* The team as a caller's parallel loop. Inside a parallel region the tasks run one after another.
 */
static void run_on_team(void *user, int64_t count, polyattn_task task, void *context) {
  (void)user;
#pragma omp parallel for schedule(static, 1) num_threads((int)count) if (!omp_in_parallel())
  for (int64_t i = 0; i < count; ++i)
    task(context, i);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static int compare(const void *left, const void *right) {
  double x = *(const double *)left, y = *(const double *)right;
  return (x > y) - (x < y);
}

static void fail(polyattn_error *error) {
  fprintf(stderr, "threads: %s\n", polyattn_error_message(error));
  exit(1);
}

static int64_t size_of(int64_t size, int64_t positions) {
  switch (size) {
  case POLYATTN_SIZE_B:
    return 1;
  case POLYATTN_SIZE_T:
  case POLYATTN_SIZE_TK:
    return positions;
  case POLYATTN_SIZE_H:
  case POLYATTN_SIZE_HKV:
    return 4;
  }
  return size;
}

static polyattn_tensor make_tensor(const polyattn_tensor_info *info, int64_t positions) {
  int64_t sizes[POLYATTN_MAX_RANK] = {0}, count = 1;
  for (int32_t i = 0; i < info->rank; ++i)
    count *= sizes[i] = size_of(info->sizes[i], positions);
  float *data = aligned_alloc(4096, ((size_t)count * sizeof(float) + 4095) / 4096 * 4096);
  for (int64_t i = 0; i < count; ++i)
    data[i] = (float)((i * 7919) % 1009) / 1009 - 0.5f;
  return polyattn_dense(data, POLYATTN_F32, info->rank, sizes);
}

typedef enum situation { ALONE, AFTER_PRODUCT, AFTER_SLEEP } situation;

typedef struct call {
  polyattn_kernel *kernel;
  polyattn_tensor tensors[MAX_TENSORS];
  size_t num_tensors;
  int rounds, team;
} call;

static double measure(const call *what, situation before, int threads, int on_team) {
  static double times[MAX_ROUNDS];
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  options.threads = threads;
  if (on_team)
    options.parallel_for = run_on_team;
  for (int round = 0; round < what->rounds; ++round) {
    if (before == AFTER_PRODUCT)
      product(what->team);
    else if (before == AFTER_SLEEP)
      usleep(10000);
    polyattn_error *error = NULL;
    double start = now();
    if (polyattn_kernel_run_with(what->kernel, what->tensors, what->num_tensors, &options, &error))
      fail(error);
    times[round] = now() - start;
  }
  qsort(times, (size_t)what->rounds, sizeof *times, compare);
  return times[what->rounds / 2];
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: threads SPEC ENTRY T THREADS [ROUNDS]\n");
    return 1;
  }
  int threads = atoi(argv[4]);
  call what = {.rounds = argc > 5 ? atoi(argv[5]) : 60, .team = threads};
  if (what.rounds < 1 || what.rounds > MAX_ROUNDS)
    return 1;
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int i = 0; i < threads; ++i)
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1 - i, &processors);
  if (sched_setaffinity(0, sizeof processors, &processors) != 0)
    perror("threads: sched_setaffinity");
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options.entry = argv[2];
  polyattn_error *error = NULL;
  what.kernel = polyattn_compile_file(argv[1], &options, &error);
  if (!what.kernel)
    fail(error);
  what.num_tensors = polyattn_kernel_num_tensors(what.kernel);
  for (size_t i = 0; i < what.num_tensors && i < MAX_TENSORS; ++i) {
    polyattn_tensor_info info;
    polyattn_kernel_tensor(what.kernel, i, &info);
    what.tensors[i] = make_tensor(&info, atoll(argv[3]));
  }
  product(threads);
  (void)measure(&what, ALONE, threads, 0);
  double one = measure(&what, ALONE, 1, 0);
  printf("| `%s` | %s | %d | %.0f |", argv[2], argv[3], threads, one);
  for (int on_team = 0; on_team < 2; ++on_team)
    for (situation before = ALONE; before <= AFTER_SLEEP; ++before)
      printf(" %.2fx |", one / measure(&what, before, threads, on_team));
  puts("");
  return 0;
}

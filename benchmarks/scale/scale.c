/*===- scale.c - the least that a step over states has to do --------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* polyattn-scale FLOATS SECONDS: multiplies so many floats by a factor where they lie, again and
 * again on one thread, and prints the seconds of the median and the best round as JSON. A step of
 * decoding moves the same memory. */
#define _DEFAULT_SOURCE /* NOLINT(bugprone-reserved-identifier): glibc's name */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_ROUNDS = 1 << 20, PAGE = 4096 };
static double rounds[MOST_ROUNDS];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  long long count = argc == 3 ? strtoll(argv[1], NULL, 10) : 0;
  double seconds = argc == 3 ? strtod(argv[2], NULL) : 0, begin;
  volatile float factor = 0.999f;
  float *data;
  int number = 0;
  if (count < 1 || count > (1LL << 36) || seconds <= 0) {
    fprintf(stderr, "usage: polyattn-scale FLOATS SECONDS\n");
    return 1;
  }
  data = aligned_alloc(PAGE, ((size_t)count * sizeof(float) + PAGE - 1) / PAGE * PAGE);
  if (!data) {
    fprintf(stderr, "polyattn-scale: no memory for %lld floats\n", count);
    return 1;
  }
  /* As the tensors of polyattn-run lie. */
  madvise(data, (size_t)count * sizeof(float), MADV_HUGEPAGE);
  for (long long i = 0; i < count; ++i)
    data[i] = 1;
  begin = now();
  do {
    float g = factor;
    double start = now();
    for (long long i = 0; i < count; ++i)
      data[i] *= g;
    /* Numbers that have become too small take longer. */
    factor = number % 2 ? 0.999f : 1 / 0.999f;
    rounds[number++] = now() - start;
  } while (number < MOST_ROUNDS && (number < 3 || now() - begin < seconds));
  qsort(rounds, (size_t)number, sizeof *rounds, compare);
  printf("{\"floats\": %lld, \"seconds_median\": %.9g, \"seconds_best\": %.9g}\n", count,
         rounds[number / 2], rounds[0]);
  free(data);
  return 0;
}

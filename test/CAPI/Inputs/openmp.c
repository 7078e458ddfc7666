/* Calls on an OpenMP team: from outside of parallel regions, where all of the team take part, and
 * from inside of one, where each call has one thread.
 *   openmp SPEC.mlir   with the entries of specs/linear.mlir */
#include "polyattn-c/polyattn.h"

#include <omp.h>
#include <stdio.h>

#define HEADS 64
#define COUNT (1 * 40 * HEADS * 64)
static float q[COUNT], k[COUNT], v[COUNT], expected[COUNT], o[4][COUNT];

static void run_on_team(void *user, int64_t count, polyattn_task task, void *context) {
  int *threads = user;
#pragma omp parallel for schedule(static, 1) num_threads((int)count)
  for (int64_t i = 0; i < count; ++i) {
    if (threads && i == 0)
      *threads = omp_get_num_threads();
    task(context, i);
  }
}

static int run(const polyattn_kernel *kernel, float *result, polyattn_parallel_for loop,
               int *user) {
  static const int64_t sizes[] = {1, 40, HEADS, 64};
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  polyattn_tensor tensors[4];
  tensors[0] = polyattn_dense(q, POLYATTN_F32, 4, sizes);
  tensors[1] = polyattn_dense(k, POLYATTN_F32, 4, sizes);
  tensors[2] = polyattn_dense(v, POLYATTN_F32, 4, sizes);
  tensors[3] = polyattn_dense(result, POLYATTN_F32, 4, sizes);
  options.threads = loop ? 4 : 1;
  options.parallel_for = loop;
  options.user = user;
  return polyattn_kernel_run_with(kernel, tensors, 4, &options, NULL);
}

static int differs(const float *result) {
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i)
    wrong += result[i] != expected[i];
  return wrong;
}

int main(int argc, char **argv) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  int outside = 0, inside[4] = {0, 0, 0, 0}, wrong = 0;
  options.entry = "linear";
  options.cache_directory = "";
  polyattn_kernel *kernel = polyattn_compile_file(argv[argc - 1], &options, NULL);
  for (int i = 0; i < COUNT; ++i) {
    q[i] = (float)(i % 7) - 3;
    k[i] = (float)(i % 11) / 4 - 1;
    v[i] = (float)(i % 13);
  }
  omp_set_dynamic(0);
  wrong += run(kernel, expected, NULL, NULL);
  wrong += run(kernel, o[0], run_on_team, &outside);
  wrong += differs(o[0]);
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    int own = omp_get_thread_num();
    for (int round = 0; round < 5; ++round)
      wrong += run(kernel, o[own], run_on_team, &inside[own]);
    wrong += differs(o[own]);
  }
  printf("outside: %d threads, inside: %d %d %d %d, wrong: %d\n", outside, inside[0], inside[1],
         inside[2], inside[3], wrong);
  polyattn_kernel_destroy(kernel);
  return 0;
}

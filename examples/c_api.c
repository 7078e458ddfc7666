/*===- c_api.c - compile a spec and run it, from C ------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Usage: polyattn-example-c SPEC.mlir, where the spec has the entry @linear. */

#include "polyattn-c/polyattn.h"
#include "reference.h"

#include <stdio.h>

static float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], o[ELEMENTS];

static int fail(polyattn_error *error) {
  fprintf(stderr, "%s\n", polyattn_error_message(error));
  polyattn_error_destroy(error);
  return 1;
}

int main(int argc, char **argv) {
  polyattn_error *error = NULL;
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_kernel *kernel;
  polyattn_tensor tensors[4];
  double relative_error;
  int status;
  if (argc != 2) {
    fprintf(stderr, "usage: %s SPEC.mlir\n", argv[0]);
    return 1;
  }
  options.entry = "linear";
  kernel = polyattn_compile_file(argv[1], &options, &error);
  if (!kernel)
    return fail(error);

  for (size_t i = 0; i < polyattn_kernel_num_tensors(kernel); ++i) {
    polyattn_tensor_info info;
    polyattn_kernel_tensor(kernel, i, &info);
    printf("%s %s: %d dimensions\n", info.is_result ? "result" : "argument", info.name,
           (int)info.rank);
  }
  example_fill(q, 1);
  example_fill(k, 2);
  example_fill(v, 3);
  tensors[0] = polyattn_dense(q, POLYATTN_F32, 4, example_sizes);
  tensors[1] = polyattn_dense(k, POLYATTN_F32, 4, example_sizes);
  tensors[2] = polyattn_dense(v, POLYATTN_F32, 4, example_sizes);
  tensors[3] = polyattn_dense(o, POLYATTN_F32, 4, example_sizes);
  status = polyattn_kernel_run(kernel, tensors, 4, 2, &error);
  polyattn_kernel_destroy(kernel);
  if (status != 0)
    return fail(error);
  relative_error = example_error(q, k, v, o);
  printf("relative error %.1e\n", relative_error);
  return relative_error < 1e-5 ? 0 : 1;
}

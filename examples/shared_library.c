/*===- shared_library.c - call a kernel that was compiled ahead of time ---===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Needs nothing of polyattn or LLVM but what the compiler wrote:
 *
 *   polyattn-compile specs/linear.mlir --entry linear -o out
 *   cc -std=c99 -Iout examples/shared_library.c -Lout -llinear -lm -Wl,-rpath,$PWD/out
 */

#include "linear.h"
#include "reference.h"

#include <stdio.h>

static float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], o[ELEMENTS];

int main(void) {
  polyattn_tensor tq = polyattn_dense(q, POLYATTN_F32, 4, example_sizes);
  polyattn_tensor tk = polyattn_dense(k, POLYATTN_F32, 4, example_sizes);
  polyattn_tensor tv = polyattn_dense(v, POLYATTN_F32, 4, example_sizes);
  polyattn_tensor to = polyattn_dense(o, POLYATTN_F32, 4, example_sizes);
  char message[256];
  double error;
  example_fill(q, 1);
  example_fill(k, 2);
  example_fill(v, 3);
  if (polyattn_linear(&tq, &tk, &tv, &to, 2, message, sizeof message) != 0) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  error = example_error(q, k, v, o);
  printf("relative error %.1e\n", error);
  return error < 1e-5 ? 0 : 1;
}

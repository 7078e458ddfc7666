/* Calls of as many positions as a table of distances has, and of one more: a kernel in memory, the
 * reference, and a library.
 *   limits SPEC.mlir   with the entry causal of relative-covered.mlir */
#include "polyattn-c/polyattn.h"
#include "relative-covered.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 40, LONGER = MOST + 1, HEADS = 2, D = 16, DV = 24 };
static float q[LONGER * HEADS * D], k[LONGER * HEADS * D], v[LONGER * HEADS * DV];
static float b[HEADS * MOST], o[LONGER * HEADS * DV];
static double exact[LONGER * HEADS * DV];
static char text[1 << 16], message[256];

static void fill(float *numbers, int count) {
  int i;
  for (i = 0; i < count; ++i)
    numbers[i] = (float)((i * 37 + count) % 101) / 101;
}

static void describe(polyattn_tensor *tensors, int64_t positions) {
  const int64_t keys[] = {1, positions, HEADS, D}, values[] = {1, positions, HEADS, DV};
  const int64_t table[] = {HEADS, MOST};
  tensors[0] = polyattn_dense(q, POLYATTN_F32, 4, keys);
  tensors[1] = polyattn_dense(k, POLYATTN_F32, 4, keys);
  tensors[2] = polyattn_dense(v, POLYATTN_F32, 4, values);
  tensors[3] = polyattn_dense(b, POLYATTN_F32, 2, table);
  tensors[4] = polyattn_dense(o, POLYATTN_F32, 4, values);
}

/* What came out against the reference, or what was said, and whether anything was written. */
static void tell(const char *what, int failed, const char *words, int64_t positions) {
  double difference = 0;
  int64_t i, written = 0;
  for (i = 0; i < LONGER * HEADS * DV; ++i) {
    written += o[i] != -1;
    if (i < positions * HEADS * DV)
      difference = fmax(difference, fabs(o[i] - exact[i]));
    o[i] = -1;
  }
  if (failed)
    printf("%s: %s, written %d\n", what, words, (int)written);
  else
    printf("%s: right %d\n", what, difference < 1e-5);
}

int main(int argc, char **argv) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_error *error = NULL;
  polyattn_tensor tensors[5];
  polyattn_kernel *kernel;
  polyattn_reference *reference;
  size_t length, argument = 0;
  FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
  int64_t positions;
  int failed;
  if (!file)
    return 2;
  length = fread(text, 1, sizeof text, file);
  fclose(file);
  options.entry = "causal";
  options.cache_directory = "";
  kernel = polyattn_compile_text(text, length, "covered", &options, &error);
  reference = polyattn_reference_create(text, length, "covered", &options, &error);
  if (!kernel || !reference)
    return 2;
  printf("limit: %d", (int)polyattn_kernel_limit(kernel, POLYATTN_SIZE_T, &argument));
  printf(" of argument %d\n", (int)argument);
  printf("others: %d %d %d %d\n", (int)polyattn_kernel_limit(kernel, POLYATTN_SIZE_TK, &argument),
         (int)polyattn_kernel_limit(kernel, 7, NULL),
         (int)polyattn_reference_limit(reference, -100, NULL),
         (int)polyattn_kernel_limit(NULL, POLYATTN_SIZE_T, NULL));
  printf("reference: %d\n", (int)polyattn_reference_limit(reference, POLYATTN_SIZE_T, NULL));

  fill(q, LONGER * HEADS * D);
  fill(k, LONGER * HEADS * D - 1);
  fill(v, LONGER * HEADS * DV);
  fill(b, HEADS * MOST);
  tell("before", 1, "", 0);
  for (positions = MOST; positions <= LONGER; ++positions) {
    describe(tensors, positions);
    tensors[4].data = exact;
    tensors[4].dtype = POLYATTN_F64;
    failed = polyattn_reference_run(reference, tensors, 5, &error);
    if (failed)
      printf("reference: %s\n", polyattn_error_message(error));
    polyattn_error_destroy(error);
    error = NULL;
    describe(tensors, positions);
    failed = polyattn_kernel_run(kernel, tensors, 5, 2, &error);
    tell("kernel", failed, failed ? polyattn_error_message(error) : "", positions);
    polyattn_error_destroy(error);
    error = NULL;
    failed = polyattn_causal(&tensors[0], &tensors[1], &tensors[2], &tensors[3], &tensors[4], 2,
                             message, sizeof message);
    tell("library", failed, message, positions);
  }
  polyattn_reference_destroy(reference);
  polyattn_kernel_destroy(kernel);
  return 0;
}

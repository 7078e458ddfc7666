/* What version 3 of the C API adds: kinds of errors, what is decided for a spec, its IR, a library
 * in a folder, and the oracle.
 *   spec SPEC.mlir FOLDER   with the entries of specs/linear.mlir */
#include "polyattn-c/polyattn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT (1 * 5 * 2 * 64)
static float q[COUNT], k[COUNT], v[COUNT], o[COUNT];
static double exact[COUNT], exact_q[COUNT];
static char text[1 << 16];
static size_t length;
static polyattn_error *error;

static void tell(const char *what, int failed) {
  printf("%s: ", what);
  if (failed)
    printf("%d: ", polyattn_error_kind(error));
  printf("%s\n", failed ? polyattn_error_message(error) : "no error");
  polyattn_error_destroy(error);
  error = NULL;
}

/* The first line. */
static void show(const char *what, polyattn_string *string) {
  if (!string) {
    tell(what, 1);
    return;
  }
  printf("%s: %.*s, whole: %d\n", what, (int)strcspn(polyattn_string_data(string), "\n"),
         polyattn_string_data(string),
         polyattn_string_length(string) == strlen(polyattn_string_data(string)));
  polyattn_string_destroy(string);
}

static void words(const char *entry) {
  static const char wrong[] = "polyattn.nonsense";
  static const char *const levels[] = {"spec", "schedule", "tile", "vector", "llvm", "ptx", NULL};
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_string *string;
  int i;
  options.entry = entry;
  options.target = "aarch64"; /* nothing is run */
  show("explain", polyattn_explain(text, length, "linear", &options, &error));
  for (i = 0; i < 7; ++i) {
    string = polyattn_ir(text, length, "linear", levels[i], &options, &error);
    if (!string) {
      tell("level", 1);
      continue;
    }
    printf("%s: attends %d, kernels %d, functions %d, LLVM's %d\n", levels[i],
           strstr(polyattn_string_data(string), "attend ") != NULL,
           strstr(polyattn_string_data(string), "tile.kernel") != NULL,
           strstr(polyattn_string_data(string), "func.func") != NULL,
           strstr(polyattn_string_data(string), "llvm.func") != NULL);
    polyattn_string_destroy(string);
  }
  show("malformed", polyattn_explain(wrong, sizeof wrong - 1, "wrong", NULL, &error));
  show("no text", polyattn_ir(NULL, 0, NULL, "tile", NULL, &error));
  options.target = "vax";
  show("target", polyattn_explain(text, length, NULL, &options, &error));
  printf("null: '%s' %d\n", polyattn_string_data(NULL), (int)polyattn_string_length(NULL));
  polyattn_string_destroy(NULL);
}

static void save(const char *folder) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options.entry = "linear";
  tell("save", polyattn_save(text, length, "linear", folder, "one", &options, &error));
  tell("folders", polyattn_save(text, length, "linear", folder, "../one", &options, &error));
  tell("no folder", polyattn_save(text, length, "linear", NULL, "one", &options, &error));
  options.target = "aarch64";
  tell("other machine", polyattn_save(text, length, "linear", folder, "one", &options, &error));
}

static double difference(void) {
  double most = 0;
  int i;
  for (i = 0; i < COUNT; ++i)
    most = fmax(most, fabs(exact[i] - o[i]));
  return most;
}

static void oracle(void) {
  static const int64_t sizes[] = {1, 5, 2, 64};
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_reference *reference;
  polyattn_kernel *kernel;
  polyattn_tensor tensors[4];
  polyattn_tensor_info info;
  options.cache_directory = "";
  reference = polyattn_reference_create(text, length, "linear", &options, &error);
  tell("entries", reference == NULL);
  options.entry = "linear";
  reference = polyattn_reference_create(text, length, "linear", &options, &error);
  kernel = polyattn_compile_text(text, length, "linear", &options, &error);
  printf("%s: ", polyattn_reference_entry(reference));
  printf("tensors: %d, dtype of the result:", (int)polyattn_reference_num_tensors(reference));
  printf(" %d", polyattn_reference_tensor(reference, 3, &info) == 0 ? info.dtype : -1);
  printf(", index: %d\n", polyattn_reference_tensor(reference, 4, &info));
  printf("roles: %s, %s", polyattn_reference_tensor_role(reference, 1),
         polyattn_reference_tensor_role(reference, 3));
  printf(", none: '%s' '%s'\n", polyattn_reference_tensor_role(reference, 4),
         polyattn_reference_tensor_role(NULL, 0));
  tensors[0] = polyattn_dense(q, POLYATTN_F32, 4, sizes);
  tensors[1] = polyattn_dense(k, POLYATTN_F32, 4, sizes);
  tensors[2] = polyattn_dense(v, POLYATTN_F32, 4, sizes);
  tensors[3] = polyattn_dense(o, POLYATTN_F32, 4, sizes);
  tell("kernel", polyattn_kernel_run(kernel, tensors, 4, 1, &error));
  tell("f32 result", polyattn_reference_run(reference, tensors, 4, &error));
  tensors[3] = polyattn_dense(exact, POLYATTN_F64, 4, sizes);
  tell("f64 for a kernel", polyattn_kernel_run(kernel, tensors, 4, 1, &error));
  tell("run", polyattn_reference_run(reference, tensors, 4, &error));
  printf("near: %d\n", difference() < 1e-5);
  /* The same values in f64, with positions reversed both by their stride and in the data. */
  tensors[0] = polyattn_dense(exact_q + 4 * 128, POLYATTN_F64, 4, sizes);
  tensors[0].strides[1] = -128;
  memset(exact, 0, sizeof exact);
  tell("f64 backwards", polyattn_reference_run(reference, tensors, 4, &error));
  printf("near: %d\n", difference() < 1e-5);
  tell("count", polyattn_reference_run(reference, tensors, 3, &error));
  tensors[1].sizes[1] = 4;
  tell("shape", polyattn_reference_run(reference, tensors, 4, &error));
  tensors[1].sizes[1] = 5;
  tensors[2].dtype = POLYATTN_I32;
  tell("dtype", polyattn_reference_run(reference, tensors, 4, &error));
  tensors[2].dtype = POLYATTN_F32;
  tensors[2].data = NULL;
  tell("null", polyattn_reference_run(reference, tensors, 4, &error));
  tell("no reference", polyattn_reference_run(NULL, tensors, 4, &error));
  polyattn_reference_destroy(reference);
  polyattn_reference_destroy(NULL);
  polyattn_kernel_destroy(kernel);
}

int main(int argc, char **argv) {
  FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
  int i;
  if (!file)
    return 2;
  length = fread(text, 1, sizeof text, file);
  fclose(file);
  for (i = 0; i < COUNT; ++i) {
    q[i] = (float)(i % 7) - 3;
    k[i] = (float)(i % 5) - 2;
    v[i] = (float)(i % 3);
    exact_q[(4 - i / 128) * 128 + i % 128] = q[i];
  }
  words("linear");
  save(argv[2]);
  oracle();
  return 0;
}

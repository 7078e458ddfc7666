/* Calls the C API wrongly in every way that its header names, and prints what it answers.
 *   misuse SPEC.mlir   with the entries of specs/linear.mlir */
#include "polyattn-c/polyattn.h"

#include <stdio.h>
#include <string.h>

#define COUNT (1 * 3 * 2 * 64)
static float q[COUNT], k[COUNT], v[COUNT], o[COUNT];

static polyattn_error *error;

/* One line, and the error is free for the next call. */
static void tell(const char *what, int failed) {
  printf("%s: %s\n", what, failed ? polyattn_error_message(error) : "no error");
  polyattn_error_destroy(error);
  error = NULL;
}

static void compile(const char *what, const char *path, const char *entry, const char *target) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_kernel *kernel;
  options.entry = entry;
  options.target = target;
  options.cache_directory = "";
  kernel = polyattn_compile_file(path, &options, &error);
  tell(what, kernel == NULL);
  polyattn_kernel_destroy(kernel);
}

static polyattn_tensor tensors[4];

static void reset(void) {
  static const int64_t sizes[] = {1, 3, 2, 64};
  float *data[4];
  int i;
  data[0] = q, data[1] = k, data[2] = v, data[3] = o;
  for (i = 0; i < 4; ++i)
    tensors[i] = polyattn_dense(data[i], POLYATTN_F32, 4, sizes);
}

static void run(const char *what, const polyattn_kernel *kernel, size_t count, int threads) {
  tell(what, polyattn_kernel_run(kernel, tensors, count, threads, &error) != 0);
  reset();
}

static void misuse_kernel(const polyattn_kernel *kernel) {
  polyattn_tensor_info info;
  reset();
  run("right", kernel, 4, 1);
  run("count", kernel, 3, 1);
  run("threads", kernel, 4, 0);
  run("no kernel", NULL, 4, 1);
  tensors[0].dtype = POLYATTN_F16;
  run("dtype", kernel, 4, 1);
  tensors[1].rank = 3;
  run("rank", kernel, 4, 1);
  tensors[1].sizes[1] = 2;
  run("shape", kernel, 4, 1);
  tensors[2].sizes[3] = 63;
  run("width", kernel, 4, 1);
  tensors[2].strides[3] = 2;
  run("stride", kernel, 4, 1);
  tensors[2].data = NULL;
  run("null", kernel, 4, 1);
  tensors[0].data = (char *)q + 1;
  run("alignment", kernel, 4, 1);
  tensors[3].strides[1] = 0;
  run("folded", kernel, 4, 1);
  tensors[3].data = v;
  run("shared", kernel, 4, 1);
  tell("no tensors", polyattn_kernel_run(kernel, NULL, 4, 1, &error) != 0);
  printf("index: %d\n", polyattn_kernel_tensor(kernel, 4, &info));
  printf("no error wanted: %d\n", polyattn_kernel_run(kernel, tensors, 1, 1, NULL));
}

int main(int argc, char **argv) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  const char *spec = argv[argc - 1], *text = "polyattn.attention @a(";
  polyattn_kernel *kernel;
  compile("missing", "/no/such/spec.mlir", NULL, NULL);
  compile("no path", NULL, NULL, NULL);
  compile("entries", spec, NULL, NULL);
  compile("entry", spec, "nobody", NULL);
  compile("target", spec, "linear", "vax");
  compile("other machine", spec, "linear", "aarch64");
  kernel = polyattn_compile_text(text, strlen(text), "text", NULL, &error);
  tell("malformed", kernel == NULL);
  kernel = polyattn_compile_text(NULL, 0, "text", NULL, &error);
  tell("no text", kernel == NULL);
  options.struct_size = 3;
  kernel = polyattn_compile_file(spec, &options, &error);
  tell("struct size", kernel == NULL);
  options.struct_size = sizeof options;
  options.entry = "linear";
  options.cache_directory = "";
  kernel = polyattn_compile_file(spec, &options, &error);
  if (!kernel)
    return puts(polyattn_error_message(error)), 1;
  misuse_kernel(kernel);
  polyattn_kernel_destroy(kernel);
  polyattn_kernel_destroy(NULL);
  polyattn_error_destroy(NULL);
  return 0;
}

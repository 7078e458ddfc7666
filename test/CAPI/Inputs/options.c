/* What version 2 of the C API adds: the dtype and invariance of a kernel, whose threads a call runs
 * on, and that programs of older versions are served as before. options SPEC.mlir   with the
 * entries of specs/linear.mlir */
#include "polyattn-c/polyattn.h"

#include <stdio.h>
#include <string.h>

#define COUNT (1 * 3 * 2 * 64)
static float q[COUNT], k[COUNT], v[COUNT], o[COUNT];

/* The struct as programs of version 1 have it, padding included. */
typedef struct options_1 {
  size_t struct_size;
  const char *entry, *target, *cache_directory;
  int32_t optimize_ir, padding;
} options_1;

/* As programs of versions 5 to 7 have it. */
typedef struct options_5 {
  size_t struct_size;
  const char *entry, *target, *cache_directory;
  int32_t optimize_ir;
  const char *dtype;
  int32_t invariant;
  const char *direction, *wrt;
  int32_t packed, padding;
} options_5;

typedef struct options_8 {
  size_t struct_size;
  const char *entry, *target, *cache_directory;
  int32_t optimize_ir;
  const char *dtype;
  int32_t invariant;
  const char *direction, *wrt;
  int32_t packed, unused, accumulate, padding;
} options_8;

/* As programs of version 9 have it. */
typedef struct options_9 {
  options_8 before;
  int64_t state_every;
} options_9;

/* As programs of version 10 have it; behind it is what they never set. */
typedef struct options_10 {
  options_9 before;
  polyattn_call_cancelled is_cancelled;
  void *cancelled_user;
  const char *beyond;
} options_10;

static polyattn_error *error;

static void tell(const char *what, int failed) {
  printf("%s: %s\n", what, failed ? polyattn_error_message(error) : "no error");
  polyattn_error_destroy(error);
  error = NULL;
}

static void describe(const char *what, polyattn_kernel *kernel) {
  polyattn_tensor_info info;
  if (!kernel) {
    tell(what, 1);
    return;
  }
  polyattn_kernel_tensor(kernel, 0, &info);
  printf("%s: dtype %d, %s\n", what, info.dtype,
         strstr(polyattn_kernel_json(kernel), "\"invariant\":true") ? "invariant" : "cut");
  polyattn_kernel_destroy(kernel);
}

static void compile_with_sizes(const char *path, const char *sizes) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_tensor_info info;
  polyattn_kernel *kernel;
  options.entry = "linear";
  options.sizes = sizes;
  options.cache_directory = "";
  kernel = polyattn_compile_file(path, &options, &error);
  if (!kernel) {
    tell(sizes, 1);
    return;
  }
  polyattn_kernel_tensor(kernel, 0, &info);
  printf("%s: q is %d wide\n", sizes, (int)info.sizes[3]);
  polyattn_kernel_destroy(kernel);
}

static void one_after_another(void *user, int64_t count, polyattn_task task, void *context) {
  int64_t i;
  *(int64_t *)user += count;
  for (i = 0; i < count; ++i)
    task(context, i);
}

static void run(polyattn_kernel *kernel) {
  static const int64_t sizes[] = {1, 3, 2, 64};
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  polyattn_tensor tensors[4];
  int64_t common = 0, own = 0;
  tensors[0] = polyattn_dense(q, POLYATTN_F32, 4, sizes);
  tensors[1] = polyattn_dense(k, POLYATTN_F32, 4, sizes);
  tensors[2] = polyattn_dense(v, POLYATTN_F32, 4, sizes);
  tensors[3] = polyattn_dense(o, POLYATTN_F32, 4, sizes);
  polyattn_set_parallel_for(one_after_another, &common);
  tell("common", polyattn_kernel_run(kernel, tensors, 4, 2, &error) != 0);
  options.threads = 2;
  options.parallel_for = one_after_another;
  options.user = &own;
  tell("own", polyattn_kernel_run_with(kernel, tensors, 4, &options, &error) != 0);
  polyattn_set_parallel_for(NULL, NULL);
  tell("workers", polyattn_kernel_run(kernel, tensors, 4, 2, &error) != 0);
  printf("tasks: %d and %d, o = %.1f\n", (int)common, (int)own, o[COUNT - 1]);
  tell("no options", polyattn_kernel_run_with(kernel, tensors, 4, NULL, &error) != 0);
  options.struct_size = 4;
  tell("struct size", polyattn_kernel_run_with(kernel, tensors, 4, &options, &error) != 0);
}

int main(int argc, char **argv) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options_1 old = {sizeof(options_1), "linear", NULL, "", 0, -1};
  options_5 older = {sizeof(options_5), "linear", NULL, "", 0, NULL, 0, NULL, NULL, 0, -1};
  options_8 last = {sizeof(options_8), "linear", NULL, "", 0, NULL, 0, NULL, NULL, 0, 0, 0, -1};
  options_9 latest = {{sizeof(options_9), "linear", NULL, "", 0, NULL, 0, NULL, NULL, 0, 0, 0, -1},
                      0};
  options_10 newest = {{{sizeof(options_10) - sizeof(char *), "linear", NULL, "", 0, NULL, 0, NULL,
                         NULL, 0, 0, 0, -1},
                        0},
                       NULL,
                       NULL,
                       "not sizes"};
  polyattn_kernel *kernel;
  int i;
  for (i = 0; i < COUNT; ++i)
    v[i] = 1;
  printf("version: %d\n", polyattn_api_version());
  options.entry = "linear";
  options.cache_directory = "";
  describe("default", polyattn_compile_file(argv[argc - 1], &options, &error));
  options.dtype = "bf16";
  options.invariant = 1;
  describe("chosen", polyattn_compile_file(argv[argc - 1], &options, &error));
  options.dtype = "f8";
  describe("dtype", polyattn_compile_file(argv[argc - 1], &options, &error));
  describe("version 1",
           polyattn_compile_file(argv[argc - 1], (const polyattn_compile_options *)&old, &error));
  describe("version 5",
           polyattn_compile_file(argv[argc - 1], (const polyattn_compile_options *)&older, &error));
  describe("version 8",
           polyattn_compile_file(argv[argc - 1], (const polyattn_compile_options *)&last, &error));
  describe("version 9", polyattn_compile_file(argv[argc - 1],
                                              (const polyattn_compile_options *)&latest, &error));
  describe("version 10", polyattn_compile_file(argv[argc - 1],
                                               (const polyattn_compile_options *)&newest, &error));
  options.dtype = NULL;
  options.state_every = 64;
  describe("state_every", polyattn_compile_file(argv[argc - 1], &options, &error));
  options.direction = "training";
  describe("kept", polyattn_compile_file(argv[argc - 1], &options, &error));
  options.state_every = -1;
  describe("range", polyattn_compile_file(argv[argc - 1], &options, &error));
  options.direction = NULL;
  options.state_every = 0;
  options.accumulate = 1;
  describe("accumulate", polyattn_compile_file(argv[argc - 1], &options, &error));
  options.accumulate = 0;
  compile_with_sizes(argv[argc - 1], "d=32, dv=8");
  compile_with_sizes(argv[argc - 1], "d=0");
  compile_with_sizes(argv[argc - 1], "d=4,d=8");
  compile_with_sizes(argv[argc - 1], "dd=4");
  kernel = polyattn_compile_file(argv[argc - 1], &options, &error);
  run(kernel);
  polyattn_kernel_destroy(kernel);
  return 0;
}

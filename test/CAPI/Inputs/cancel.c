/* Cancels what takes long, and calls it again. cancel SLOW.mlir LINEAR.mlir CACHE   with
 * @polysketch_learned, whose backward half takes seconds to compile, and @linear */
#include "polyattn-c/polyattn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 64

/* Says yes when it is asked for the n-th time. */
typedef struct caller {
  int asked, yes_at;
} caller;

static int is_cancelled(void *user) {
  caller *self = user;
  return ++self->asked == self->yes_at;
}

static polyattn_error *error;

static void tell(const char *what, int failed, const caller *who) {
  if (failed)
    printf("%s: kind %d, %s, asked %d\n", what, polyattn_error_kind(error),
           polyattn_error_message(error), who->asked);
  else
    printf("%s: no error\n", what);
  polyattn_error_destroy(error);
  error = NULL;
}

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 16);
  *length = file && text ? fread(text, 1, 1 << 16, file) : 0;
  if (file)
    fclose(file);
  return text;
}

static polyattn_compile_options options_of(caller *who, int yes_at, const char *entry,
                                           const char *cache) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  who->asked = 0;
  who->yes_at = yes_at;
  options.entry = entry;
  options.cache_directory = cache;
  options.is_cancelled = is_cancelled;
  options.cancelled_user = who;
  return options;
}

static void cancel_compilations(const char *path, const char *cache) {
  caller who;
  polyattn_compile_options options = options_of(&who, 1, "polysketch_learned", cache);
  size_t length;
  char *text = read_file(path, &length), directory[1000];
  options.direction = "backward";
  tell("compile at once", !polyattn_compile_file(path, &options, &error), &who);
  who.asked = 0;
  who.yes_at = 3;
  tell("compile", !polyattn_compile_text(text, length, "slow", &options, &error), &who);
  who.asked = 0;
  who.yes_at = 2;
  tell("ir", !polyattn_ir(text, length, "slow", "llvm", &options, &error), &who);
  who.asked = 0;
  who.yes_at = 1;
  tell("explain", !polyattn_explain(text, length, "slow", &options, &error), &who);
  who.asked = 0;
  who.yes_at = 3;
  snprintf(directory, sizeof directory, "%s/library", cache);
  tell("save", polyattn_save(text, length, "slow", directory, "slow", &options, &error), &who);
  who.asked = 0;
  who.yes_at = 1;
  tell("reference", !polyattn_reference_create(text, length, "slow", &options, &error), &who);
  /* What is under way has copies. */
  memset(text, 0, length);
  free(text);
}

/* q, k and v are ones that repeat, so that large calls need little memory. */
static polyattn_tensor repeat(const float *ones, const int64_t *sizes) {
  polyattn_tensor tensor = polyattn_dense((void *)ones, POLYATTN_F32, 4, sizes);
  tensor.strides[0] = tensor.strides[1] = tensor.strides[2] = 0;
  return tensor;
}

static void set_tensors(polyattn_tensor *tensors, void *o, int32_t dtype, const int64_t *sizes) {
  static float ones[WIDTH];
  int i;
  for (i = 0; i < WIDTH; ++i)
    ones[i] = 1;
  for (i = 0; i < 3; ++i)
    tensors[i] = repeat(ones, sizes);
  tensors[3] = polyattn_dense(o, dtype, 4, sizes);
}

static void cancel_oracle(const polyattn_reference *oracle) {
  static const int64_t large[] = {1, 8000, 1, WIDTH}, small[] = {1, 3, 1, WIDTH};
  caller who = {0, 3};
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  polyattn_tensor tensors[4];
  double *o = calloc(8000 * WIDTH, sizeof *o);
  options.is_cancelled = is_cancelled;
  options.cancelled_user = &who;
  set_tensors(tensors, o, POLYATTN_F64, large);
  tell("oracle run", polyattn_reference_run_with(oracle, tensors, 4, &options, &error), &who);
  set_tensors(tensors, o, POLYATTN_F64, small);
  if (polyattn_reference_run(oracle, tensors, 4, &error) == 0)
    printf("oracle again: no error, o = %.1f\n", o[2 * WIDTH]);
  free(o);
}

static void cancel_kernel(const polyattn_kernel *kernel) {
  static const int64_t large[] = {16, 4000, 8, WIDTH}, small[] = {1, 3, 1, WIDTH};
  caller who = {0, 1};
  polyattn_call_options options = POLYATTN_CALL_OPTIONS_INIT;
  polyattn_tensor tensors[4];
  size_t count = 16 * 4000 * 8 * WIDTH;
  float *o = calloc(count, sizeof *o);
  options.is_cancelled = is_cancelled;
  options.cancelled_user = &who;
  set_tensors(tensors, o, POLYATTN_F32, large);
  tell("run", polyattn_kernel_run_with(kernel, tensors, 4, &options, &error), &who);
  set_tensors(tensors, o, POLYATTN_F32, small);
  if (polyattn_kernel_run(kernel, tensors, 4, 1, &error) == 0)
    printf("run again: no error, o = %.1f\n", o[2 * WIDTH]);
  who.yes_at = 0;
  set_tensors(tensors, o, POLYATTN_F32, large);
  if (polyattn_kernel_run_with(kernel, tensors, 4, &options, &error) == 0)
    printf("not cancelled: no error, o = %.1f\n", o[count - 1]);
  free(o);
}

int main(int argc, char **argv) {
  caller who;
  polyattn_compile_options options = options_of(&who, 0, "linear", argv[argc - 1]);
  polyattn_kernel *kernel;
  polyattn_reference *oracle;
  size_t length;
  char *text = read_file(argv[argc - 2], &length);
  cancel_compilations(argv[argc - 3], argv[argc - 1]);
  kernel = polyattn_compile_text(text, length, "linear", &options, &error);
  tell("forward", !kernel, &who);
  oracle = polyattn_reference_create(text, length, "linear", &options, &error);
  tell("oracle", !oracle, &who);
  cancel_oracle(oracle);
  cancel_kernel(kernel);
  polyattn_reference_destroy(oracle);
  polyattn_kernel_destroy(kernel);
  free(text);
  return 0;
}

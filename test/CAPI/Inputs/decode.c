/* A decoding kernel by the C API, and every way to call it wrongly.
 *   decode SPEC.mlir   with the entry gated of test/Integration/Run/Inputs/directions.mlir */
#include "polyattn-c/polyattn.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { BATCHES = 2, POOL = 3, WIDTH = 16, TENSORS = 9, SEQUENCE = BATCHES * WIDTH };
static float sequences[4][SEQUENCE], state[POOL * WIDTH * WIDTH], before[POOL * WIDTH * WIDTH];
static int32_t slots[BATCHES], lengths[BATCHES];
static int64_t first[BATCHES];
static polyattn_tensor tensors[TENSORS];
static polyattn_error *error;

static void tell(const char *what, int failed) {
  printf("%s: %s\n", what, failed ? polyattn_error_message(error) : "no error");
  polyattn_error_destroy(error);
  error = NULL;
}

/* q, k, v, state, slots, first_position, lengths, the output, the final state. */
static void reset(void) {
  static const int64_t sizes[] = {BATCHES, 1, 1, WIDTH}, pool[] = {POOL, 1, WIDTH, WIDTH},
                       batches = BATCHES;
  int i;
  for (i = 0; i < 3; ++i)
    tensors[i] = polyattn_dense(sequences[i], POLYATTN_F32, 4, sizes);
  tensors[3] = tensors[8] = polyattn_dense(state, POLYATTN_F32, 4, pool);
  tensors[4] = polyattn_dense(slots, POLYATTN_I32, 1, &batches);
  tensors[5] = polyattn_dense(first, POLYATTN_I64, 1, &batches);
  tensors[6] = polyattn_dense(lengths, POLYATTN_I32, 1, &batches);
  tensors[7] = polyattn_dense(sequences[3], POLYATTN_F32, 4, sizes);
  for (i = 0; i < BATCHES; ++i) {
    slots[i] = i;
    first[i] = 4;
    lengths[i] = 1;
  }
}

static void run(const char *what, const polyattn_kernel *kernel) {
  tell(what, polyattn_kernel_run(kernel, tensors, TENSORS, 1, &error) != 0);
  reset();
}

static polyattn_kernel *compile(const char *spec, const char *what, const char *entry,
                                const char *wrt, size_t struct_size, int packed) {
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  polyattn_kernel *kernel;
  options.struct_size = struct_size;
  options.entry = entry;
  options.cache_directory = "";
  options.direction = "decode";
  options.wrt = wrt;
  options.packed = packed;
  kernel = polyattn_compile_file(spec, &options, &error);
  tell(what, kernel == NULL);
  return kernel;
}

static void tellOffsets(const polyattn_kernel *kernel) {
  polyattn_tensor_info info;
  const char *offsets = "none";
  size_t i;
  for (i = 0; polyattn_kernel_tensor(kernel, i, &info) == 0; ++i)
    if (strcmp(polyattn_kernel_tensor_role(kernel, i), "offsets") == 0)
      offsets = info.name;
  printf("  offsets: %s\n", offsets);
}

int main(int argc, char **argv) {
  const char *spec = argv[argc - 1];
  const size_t whole = sizeof(polyattn_compile_options);
  polyattn_tensor_info info;
  polyattn_kernel *kernel, *packed, *older;
  size_t i;
  int untouched;
  compile(spec, "wrt", "gated", "q", whole, 0);
  compile(spec, "mask", "full", NULL, whole, 0);
  packed = compile(spec, "packed", "gated", NULL, whole, 1);
  tellOffsets(packed);
  /* Of a version that knew no packed: what lies there is not read. */
  older = compile(spec, "version 4", "gated", NULL, offsetof(polyattn_compile_options, packed), 1);
  tellOffsets(older);
  kernel = compile(spec, "decode", "gated", NULL, whole, 0);
  for (i = 0; polyattn_kernel_tensor(kernel, i, &info) == 0; ++i)
    printf("  %s: %s '%s'\n", info.name, polyattn_kernel_tensor_role(kernel, i),
           polyattn_kernel_tensor_origin(kernel, i));

  for (i = 0; i < POOL * WIDTH * WIDTH; ++i)
    before[i] = state[i] = (float)i;
  reset();
  slots[1] = 0;
  run("one slot twice", kernel);
  slots[1] = POOL;
  run("no such slot", kernel);
  slots[0] = 2147483647;
  run("far beyond", kernel);
  lengths[1] = 2;
  run("too long", kernel);
  lengths[0] = -1;
  run("shorter than nothing", kernel);
  first[1] = -1;
  run("before the beginning", kernel);
  tensors[8].data = sequences[0];
  run("another place", kernel);
  tensors[3].sizes[2] = tensors[8].sizes[2] = WIDTH - 1;
  run("states of another spec", kernel);
  tensors[7].data = state;
  run("output in the pool", kernel);
  untouched = memcmp(state, before, sizeof state) == 0;
  for (i = 0; i < SEQUENCE; ++i)
    untouched = untouched && sequences[3][i] == 0;
  printf("untouched: %d\n", untouched);

  slots[1] = -2147483647 - 1;
  first[1] = -5;
  run("padding", kernel);
  run("right", kernel);
  polyattn_kernel_destroy(kernel);
  polyattn_kernel_destroy(packed);
  polyattn_kernel_destroy(older);
  return 0;
}

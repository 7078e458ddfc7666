/* A training pair by the C API, and every way to call it wrongly.
 *   training SPEC.mlir   with the entry gated of test/Integration/Run/Inputs/directions.mlir */
#include "polyattn-c/polyattn.h"

#include <stdio.h>
#include <string.h>

enum { TENSORS = 8, COUNT = 1 * 3 * 2 * 16 };
static float data[TENSORS][COUNT];
static polyattn_tensor tensors[TENSORS];
static polyattn_error *error;
static polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
static const char *spec;

static void tell(const char *what, int failed) {
  printf("%s: %s\n", what, failed ? polyattn_error_message(error) : "no error");
  polyattn_error_destroy(error);
  error = NULL;
}

static polyattn_kernel *compile(const char *what, const char *direction, const char *wrt) {
  polyattn_kernel *kernel;
  options.entry = "gated";
  options.cache_directory = "";
  options.direction = direction;
  options.wrt = wrt;
  kernel = polyattn_compile_file(spec, &options, &error);
  tell(what, kernel == NULL);
  return kernel;
}

/* Of which a caller can go on without gradients: the kind says so, not the text. */
static void without_gradients(void) {
  static const char text[] = "polyattn.attention @none(%q: tensor<?x?x?x4xf32>)\n"
                             "    -> (o: tensor<?x?x?x4xf32>) {\n"
                             "  %o = constant {value = 1.0, width = 4}\n"
                             "  return %o : [4]\n"
                             "}\n";
  options.entry = NULL;
  options.direction = "training";
  options.wrt = NULL;
  if (!polyattn_compile_text(text, sizeof text - 1, "none.mlir", &options, &error))
    printf("kind %d\n", polyattn_error_kind(error));
  tell("no gradient", error != NULL);
}

static void describe(const polyattn_kernel *kernel) {
  polyattn_tensor_info info;
  size_t i;
  printf("%s\n", polyattn_kernel_entry(kernel));
  for (i = 0; polyattn_kernel_tensor(kernel, i, &info) == 0; ++i)
    printf("  %s: %s '%s'\n", info.name, polyattn_kernel_tensor_role(kernel, i),
           polyattn_kernel_tensor_origin(kernel, i));
  printf("  beyond: '%s' '%s' %d\n", polyattn_kernel_tensor_role(kernel, i),
         polyattn_kernel_tensor_origin(kernel, i), (int)polyattn_kernel_tensor_place(kernel, i));
}

static void reset(void) {
  static const int64_t sizes[] = {1, 3, 2, 16};
  int i;
  for (i = 0; i < TENSORS; ++i)
    tensors[i] = polyattn_dense(data[i], POLYATTN_F32, 4, sizes);
}

static void run(const char *what, const polyattn_kernel *kernel) {
  tell(what, polyattn_kernel_run(kernel, tensors, TENSORS, 1, &error) != 0);
  reset();
}

int main(int argc, char **argv) {
  polyattn_kernel *forward, *backward;
  int i, untouched = 1;
  spec = argv[argc - 1];
  compile("direction", "sideways", NULL);
  compile("wrt alone", NULL, "q");
  compile("unknown", "backward", "q,kk");
  compile("twice", "training", "q,q");
  without_gradients();
  forward = compile("training", "training", NULL);
  backward = compile("backward", "backward", "q, k,v");
  if (!forward || !backward)
    return 1;
  describe(forward);
  describe(backward);
  reset();
  for (i = 0; i < COUNT; ++i)
    data[5][i] = data[6][i] = data[7][i] = 7;
  tensors[3].sizes[1] = 2;
  run("another forward's", backward);
  tensors[4].sizes[2] = 1;
  run("another loss's", backward);
  tensors[6].data = data[5];
  run("gradients overlap", backward);
  tensors[6].data = data[5] + COUNT / 2;
  run("gradients overlap in part", backward);
  tensors[7].data = data[3];
  run("in what was saved", backward);
  for (i = 0; i < COUNT; ++i)
    untouched &= data[5][i] == 7 && data[6][i] == 7 && data[7][i] == 7;
  printf("untouched: %d\n", untouched);
  run("right", backward);
  polyattn_kernel_destroy(forward);
  polyattn_kernel_destroy(backward);
  return 0;
}

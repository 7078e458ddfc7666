/*===- train.c - one step of training, from C -----------------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* Usage: polyattn-example-train SPEC.mlir ENTRY, where the entry's tensors hold f32.
 *
 * Compiles the two halves of a training pair, calls the forward half, takes the loss |o - 1|^2 / 2
 * of its first result, calls the backward half with the loss's gradient o - 1, and goes a step down
 * the gradients in all arguments. Which tensor is which, both halves say. */

#include "polyattn-c/polyattn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 64 };

/* One half: a kernel and its tensors, of which those that the other half has, too, are that one's.
 */
typedef struct half {
  polyattn_kernel *kernel;
  size_t count;
  polyattn_tensor_info infos[MOST_TENSORS];
  polyattn_tensor tensors[MOST_TENSORS];
} half;

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  exit(1);
}

static void compile(const char *spec, const char *entry, const char *direction, half *made) {
  polyattn_error *error = NULL;
  polyattn_compile_options options = POLYATTN_COMPILE_OPTIONS_INIT;
  options.entry = entry;
  options.direction = direction;
  made->kernel = polyattn_compile_file(spec, &options, &error);
  if (!made->kernel)
    fail(polyattn_error_message(error));
  made->count = polyattn_kernel_num_tensors(made->kernel);
  if (made->count > MOST_TENSORS)
    fail("too many tensors");
  for (size_t i = 0; i < made->count; ++i)
    polyattn_kernel_tensor(made->kernel, i, &made->infos[i]);
}

static void run(half *called) {
  polyattn_error *error = NULL;
  if (polyattn_kernel_run(called->kernel, called->tensors, called->count, 2, &error) != 0)
    fail(polyattn_error_message(error));
}

static int64_t elements(const polyattn_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i)
    count *= tensor->sizes[i];
  return count;
}

/* A dense tensor for B = 2, T = Tk = 150, H = Hkv = 4, of zeros. */
static polyattn_tensor allocate(const polyattn_tensor_info *info) {
  int64_t sizes[POLYATTN_MAX_RANK];
  polyattn_tensor tensor;
  for (int32_t i = 0; i < info->rank; ++i) {
    int64_t size = info->sizes[i];
    sizes[i] = size >= 0                                              ? size
               : size == POLYATTN_SIZE_B                              ? 2
               : size == POLYATTN_SIZE_H || size == POLYATTN_SIZE_HKV ? 4
                                                                      : 150;
  }
  if (info->dtype != POLYATTN_F32)
    fail("expected an entry whose tensors hold f32");
  tensor = polyattn_dense(NULL, info->dtype, info->rank, sizes);
  tensor.data = calloc((size_t)elements(&tensor), sizeof(float));
  if (!tensor.data)
    fail("out of memory");
  return tensor;
}

/* Numbers between -0.5 and 0.5 that look random. */
static void fill(const polyattn_tensor *tensor, uint32_t seed) {
  float *data = (float *)tensor->data;
  for (int64_t i = 0, count = elements(tensor); i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
}

static polyattn_tensor *find(half *where, const char *name) {
  for (size_t i = 0; i < where->count; ++i)
    if (strcmp(where->infos[i].name, name) == 0)
      return &where->tensors[i];
  return NULL;
}

/* |o - 1|^2 / 2, and its gradient where there is room for it. */
static double loss_of(const polyattn_tensor *output, polyattn_tensor *gradient) {
  const float *o = (const float *)output->data;
  double loss = 0;
  for (int64_t i = 0, count = elements(output); i < count; ++i) {
    loss += 0.5 * (o[i] - 1.0) * (o[i] - 1.0);
    if (gradient)
      ((float *)gradient->data)[i] = o[i] - 1.0f;
  }
  return loss;
}

static double squared_norm(const polyattn_tensor *tensor) {
  double sum = 0;
  for (int64_t i = 0, count = elements(tensor); i < count; ++i)
    sum += (double)((float *)tensor->data)[i] * ((float *)tensor->data)[i];
  return sum;
}

int main(int argc, char **argv) {
  static half forward, backward;
  polyattn_tensor *output = NULL, *gradient = NULL;
  double before, after, slope = 0, step;
  if (argc != 3)
    fail("usage: polyattn-example-train SPEC.mlir ENTRY");
  compile(argv[1], argv[2], "training", &forward);
  compile(argv[1], argv[2], "backward", &backward);
  for (size_t i = 0; i < forward.count; ++i) {
    forward.tensors[i] = allocate(&forward.infos[i]);
    if (!forward.infos[i].is_result)
      fill(&forward.tensors[i], (uint32_t)i + 1);
    else if (!output)
      output = &forward.tensors[i];
  }
  /* The entry's arguments and what was saved have the same names in both halves. */
  for (size_t i = 0; i < backward.count; ++i) {
    const char *role = polyattn_kernel_tensor_role(backward.kernel, i);
    const char *origin = polyattn_kernel_tensor_origin(backward.kernel, i);
    if (strcmp(role, "gradient") != 0) {
      backward.tensors[i] = *find(&forward, backward.infos[i].name);
      continue;
    }
    backward.tensors[i] = allocate(&backward.infos[i]);
    if (!backward.infos[i].is_result && find(&forward, origin) == output)
      gradient = &backward.tensors[i];
  }

  run(&forward);
  before = loss_of(output, gradient);
  run(&backward);
  for (size_t i = 0; i < backward.count; ++i)
    if (backward.infos[i].is_result)
      slope += squared_norm(&backward.tensors[i]);
  /* As far as the gradients promise a hundredth of the loss. */
  step = 0.01 * before / slope;
  for (size_t i = 0; i < backward.count; ++i) {
    polyattn_tensor *argument;
    if (!backward.infos[i].is_result)
      continue;
    argument = find(&forward, polyattn_kernel_tensor_origin(backward.kernel, i));
    for (int64_t j = 0, count = elements(argument); j < count; ++j)
      ((float *)argument->data)[j] -= (float)step * ((float *)backward.tensors[i].data)[j];
  }
  run(&forward);
  after = loss_of(output, NULL);
  printf("loss %.6g, after a step %.6g: %.3g%% less, the gradients said 1%%\n", before, after,
         100 * (before - after) / before);

  for (size_t i = 0; i < backward.count; ++i)
    if (strcmp(polyattn_kernel_tensor_role(backward.kernel, i), "gradient") == 0)
      free(backward.tensors[i].data);
  for (size_t i = 0; i < forward.count; ++i)
    free(forward.tensors[i].data);
  polyattn_kernel_destroy(forward.kernel);
  polyattn_kernel_destroy(backward.kernel);
  return after < 0.995 * before && after > 0.98 * before ? 0 : 1;
}

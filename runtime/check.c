/*===- check.c - the caller's tensors against the entry's rules -----------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int polyattn_rt_fail(const polyattn_rt_report *where, const char *format, ...) {
  if (!where->error || where->size == 0)
    return 1;
  int used = where->rule
                 ? snprintf(where->error, where->size, "%s: %s '%s': ", where->kernel->name,
                            where->rule->is_result ? "result" : "argument", where->rule->name)
                 : snprintf(where->error, where->size, "%s: ", where->kernel->name);
  if (used >= 0 && (size_t)used < where->size) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(where->error + used, where->size - (size_t)used, format, arguments);
    va_end(arguments);
  }
  return 1;
}

static int fail_dtype(const polyattn_rt_report *where, int32_t came) {
  const char *expected = polyattn_dtype_name(where->rule->dtype);
  const char *name = polyattn_dtype_name(came);
  if (name)
    return polyattn_rt_fail(where, "expected element type %s, got %s", expected, name);
  return polyattn_rt_fail(where, "expected element type %s, got one of no known name, %d", expected,
                          (int)came);
}

/* A shape as text, "[B, T, H, 64]" or "[2, 100, 8, 64]". Only messages ask for it: printing the
 * shapes of a short call takes as long as computing it. */
typedef struct shape_text {
  char text[160];
} shape_text;

static shape_text print_shape(const int64_t *sizes, int64_t rank) {
  shape_text shape;
  size_t used = 0;
  const char *separator = "[";
  for (int64_t i = 0; i < rank && used < sizeof shape.text; ++i) {
    size_t left = sizeof shape.text - used;
    const char *name = polyattn_size_name(sizes[i]);
    int written = name ? snprintf(shape.text + used, left, "%s%s", separator, name)
                       : snprintf(shape.text + used, left, "%s%" PRId64, separator, sizes[i]);
    used += written > 0 ? (size_t)written : 0;
    separator = ", ";
  }
  if (used < sizeof shape.text)
    snprintf(shape.text + used, sizeof shape.text - used, "%s", rank == 0 ? "[]" : "]");
  return shape;
}

static shape_text wanted_shape(const polyattn_rt_tensor_rule *rule) {
  return print_shape(rule->sizes, rule->rank);
}

static shape_text given_shape(const polyattn_tensor *tensor) {
  return print_shape(tensor->sizes, tensor->rank);
}

/* Shapes, and what they say about the named sizes. `first` remembers who said it first. */
static int check_shape(const polyattn_rt_report *where, const polyattn_tensor *tensor,
                       polyattn_rt_sizes *bound, const polyattn_rt_tensor_rule **first) {
  const polyattn_rt_tensor_rule *rule = where->rule;
  if (tensor->rank != rule->rank)
    return polyattn_rt_fail(where, "expected %" PRId64 " dimensions %s, got %d", rule->rank,
                            wanted_shape(rule).text, (int)tensor->rank);
  for (int64_t i = 0; i < rule->rank; ++i)
    if (tensor->sizes[i] < 0)
      return polyattn_rt_fail(where,
                              "expected shape %s, got size %" PRId64 " in dimension %" PRId64,
                              wanted_shape(rule).text, tensor->sizes[i], i);
  for (int64_t i = 0; i < rule->rank; ++i) {
    int64_t size = tensor->sizes[i];
    if (rule->sizes[i] >= 0) {
      if (size != rule->sizes[i])
        return polyattn_rt_fail(where, "expected shape %s, got %s", wanted_shape(rule).text,
                                given_shape(tensor).text);
      continue;
    }
    int64_t name = -rule->sizes[i] - 1;
    if (bound->values[name] < 0) {
      bound->values[name] = size;
      first[name] = rule;
    } else if (bound->values[name] != size) {
      return polyattn_rt_fail(where, "expected shape %s with %s = %" PRId64 " as in '%s', got %s",
                              wanted_shape(rule).text, polyattn_size_name(rule->sizes[i]),
                              bound->values[name], first[name]->name, given_shape(tensor).text);
    }
  }
  return 0;
}

static int fail_rows(const polyattn_rt_report *where, const polyattn_tensor *tensor) {
  return polyattn_rt_fail(where, "expected an innermost stride of 1, got %" PRId64,
                          tensor->strides[tensor->rank - 1]);
}

/* Memory: pointer, alignment, strides. */
static int check_memory(const polyattn_rt_report *where, const polyattn_tensor *tensor) {
  const polyattn_rt_tensor_rule *rule = where->rule;
  if (polyattn_rt_is_empty(tensor))
    return 0;
  if (!tensor->data)
    return polyattn_rt_fail(where, "the data pointer is null");
  int64_t bytes = polyattn_dtype_bytes(rule->dtype);
  if ((uintptr_t)tensor->data % (uintptr_t)bytes != 0)
    return polyattn_rt_fail(where, "expected data aligned to %" PRId64 " bytes, got address %p",
                            bytes, tensor->data);
  if (!polyattn_rt_is_addressable(tensor))
    return polyattn_rt_fail(where, "sizes and strides exceed the address space");
  if (!polyattn_rt_has_rows(tensor) && !polyattn_rt_is_weight(rule))
    return fail_rows(where, tensor);
  if (rule->is_result && !polyattn_rt_is_injective(tensor)) {
    for (int32_t i = 0; i < tensor->rank; ++i)
      if (tensor->strides[i] == 0 && tensor->sizes[i] > 1)
        return polyattn_rt_fail(
            where, "expected elements that do not overlap, got stride 0 in dimension %d", (int)i);
    return polyattn_rt_fail(where,
                            "expected elements that do not overlap, got strides that fold them");
  }
  return 0;
}

int polyattn_rt_fail_limit(const polyattn_rt_kernel *kernel, int64_t size, int64_t came,
                           const char *where, int64_t number, char *error, size_t error_size) {
  const polyattn_rt_limit_rule *limit = &kernel->limits[-size - 1];
  const polyattn_rt_tensor_rule *rule = &kernel->tensors[limit->tensor];
  const polyattn_rt_report report = {kernel, rule, error, error_size};
  const char *name = polyattn_size_name(size);
  char sequence[48] = "";
  if (*where)
    snprintf(sequence, sizeof sequence, " in %s %" PRId64, where, number);
  return polyattn_rt_fail(&report,
                          "expected %s <= %" PRId64 " with shape %s, got %s = %" PRId64 "%s", name,
                          limit->most, wanted_shape(rule).text, name, came, sequence);
}

/* Named sizes against their limits. Packed sequences have a T each, of which their offsets tell. */
static int check_limits(const polyattn_rt_kernel *kernel, const polyattn_rt_sizes *sizes,
                        char *error, size_t error_size) {
  for (int64_t i = 0; i < POLYATTN_NAMED_SIZES && !kernel->offsets; ++i)
    if (kernel->limits[i].most > 0 && sizes->values[i] > kernel->limits[i].most)
      return polyattn_rt_fail_limit(kernel, -1 - i, sizes->values[i], "", 0, error, error_size);
  return 0;
}

int polyattn_rt_check(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                      int64_t num_tensors, polyattn_rt_sizes *sizes, char *error,
                      size_t error_size) {
  polyattn_rt_report where = {kernel, NULL, error, error_size};
  const polyattn_rt_tensor_rule *first[POLYATTN_NAMED_SIZES] = {NULL};
  for (int i = 0; i < POLYATTN_NAMED_SIZES; ++i)
    sizes->values[i] = -1;
  if (num_tensors != kernel->num_tensors)
    return polyattn_rt_fail(&where, "expected %" PRId64 " tensors, got %" PRId64,
                            kernel->num_tensors, num_tensors);
  for (int64_t i = 0; i < num_tensors; ++i) {
    where.rule = &kernel->tensors[i];
    if (!tensors || !tensors[i])
      return polyattn_rt_fail(&where, "the tensor is null");
    if (tensors[i]->dtype != where.rule->dtype)
      return fail_dtype(&where, tensors[i]->dtype);
    if (check_shape(&where, tensors[i], sizes, first) != 0 || check_memory(&where, tensors[i]) != 0)
      return 1;
  }
  for (int i = 0; i < POLYATTN_NAMED_SIZES; ++i) {
    if (kernel->fixed[i] < 0)
      continue;
    if (sizes->values[i] < 0) {
      sizes->values[i] = kernel->fixed[i];
    } else if (sizes->values[i] != kernel->fixed[i]) {
      where.rule = first[i];
      return polyattn_rt_fail(&where,
                              "expected %s = %" PRId64 ", which the spec fixes, got %" PRId64,
                              polyattn_size_name(-1 - i), kernel->fixed[i], sizes->values[i]);
    }
  }
  if (check_limits(kernel, sizes, error, error_size) != 0)
    return 1;
  int64_t sequences = sizes->values[-POLYATTN_SIZE_N - 1];
  int64_t bounds = sizes->values[-POLYATTN_SIZE_N1 - 1];
  if (kernel->offsets && (bounds < 1 || (sequences >= 0 && bounds - 1 != sequences))) {
    where.rule = &kernel->tensors[kernel->offsets - 1];
    if (sequences >= 0)
      return polyattn_rt_fail(&where,
                              "expected N + 1 offsets, of N = %" PRId64 " sequences, got %" PRId64,
                              sequences, bounds);
    return polyattn_rt_fail(&where, "expected N + 1 offsets, at least one, got none");
  }
  int64_t heads = sizes->values[-POLYATTN_SIZE_H - 1];
  int64_t key_heads = sizes->values[-POLYATTN_SIZE_HKV - 1];
  if (heads >= 0 && key_heads >= 0 && (key_heads == 0 ? heads != 0 : heads % key_heads != 0)) {
    where.rule = first[-POLYATTN_SIZE_HKV - 1];
    return polyattn_rt_fail(
        &where, "expected a number of heads that divides H = %" PRId64 ", got Hkv = %" PRId64,
        heads, key_heads);
  }
  for (int64_t i = 0; i < num_tensors; ++i)
    for (int64_t j = 0; j < i; ++j) {
      /* Results come last: of a result and an argument, i is the result. */
      where.rule = &kernel->tensors[i];
      if (where.rule->lives_in == j + 1) {
        if (!polyattn_rt_are_same(tensors[i], tensors[j]))
          return polyattn_rt_fail(&where, "expected the memory of argument '%s', in which it lives",
                                  kernel->tensors[j].name);
      } else if (where.rule->is_result && polyattn_rt_overlap(tensors[i], tensors[j]))
        return polyattn_rt_fail(&where, "expected memory of its own, got that of %s '%s'",
                                kernel->tensors[j].is_result ? "result" : "argument",
                                kernel->tensors[j].name);
    }
  return 0;
}

int polyattn_rt_check_rows(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                           char *error, size_t error_size) {
  for (int64_t i = 0; i < kernel->num_tensors; ++i) {
    const polyattn_rt_report where = {kernel, &kernel->tensors[i], error, error_size};
    if (!polyattn_rt_is_empty(tensors[i]) && !polyattn_rt_has_rows(tensors[i]))
      return fail_rows(&where, tensors[i]);
  }
  return 0;
}

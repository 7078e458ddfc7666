/*===- check.c - the caller's tensors against the entry's rules -----------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "runtime.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct report {
  const polyattn_rt_kernel *kernel;
  const polyattn_rt_tensor_rule *rule;
  char *error;
  size_t size;
} report;

/* One line, "entry: argument 'q': ...". */
__attribute__((format(printf, 2, 3))) static int fail(const report *where, const char *format,
                                                      ...) {
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

static const char *dtype_name(int32_t dtype) {
  const char *name = polyattn_dtype_name(dtype);
  return name ? name : "an unknown element type";
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
static int check_shape(const report *where, const polyattn_tensor *tensor, polyattn_rt_sizes *bound,
                       const polyattn_rt_tensor_rule **first) {
  const polyattn_rt_tensor_rule *rule = where->rule;
  if (tensor->rank != rule->rank)
    return fail(where, "expected %" PRId64 " dimensions %s, got %d", rule->rank,
                wanted_shape(rule).text, (int)tensor->rank);
  for (int64_t i = 0; i < rule->rank; ++i)
    if (tensor->sizes[i] < 0)
      return fail(where, "expected shape %s, got size %" PRId64 " in dimension %" PRId64,
                  wanted_shape(rule).text, tensor->sizes[i], i);
  for (int64_t i = 0; i < rule->rank; ++i) {
    int64_t size = tensor->sizes[i];
    if (rule->sizes[i] >= 0) {
      if (size != rule->sizes[i])
        return fail(where, "expected shape %s, got %s", wanted_shape(rule).text,
                    given_shape(tensor).text);
      continue;
    }
    int64_t name = -rule->sizes[i] - 1;
    if (bound->values[name] < 0) {
      bound->values[name] = size;
      first[name] = rule;
    } else if (bound->values[name] != size) {
      return fail(where, "expected shape %s with %s = %" PRId64 " as in '%s', got %s",
                  wanted_shape(rule).text, polyattn_size_name(rule->sizes[i]), bound->values[name],
                  first[name]->name, given_shape(tensor).text);
    }
  }
  return 0;
}

static bool is_empty(const polyattn_tensor *tensor) {
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes[i] == 0)
      return true;
  return false;
}

static uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Whether no two elements share memory. Dimensions from the smallest stride up: each must step
 * over everything inside it. Sufficient, and exact for all views made by slicing and
 * permuting a dense tensor. */
static bool is_injective(const polyattn_tensor *tensor) {
  bool done[POLYATTN_MAX_RANK] = {false};
  uint64_t extent = 0; /* the largest distance between elements so far */
  for (int32_t round = 0; round < tensor->rank; ++round) {
    int32_t smallest = -1;
    for (int32_t i = 0; i < tensor->rank; ++i)
      if (!done[i] &&
          (smallest < 0 || magnitude(tensor->strides[i]) < magnitude(tensor->strides[smallest])))
        smallest = i;
    done[smallest] = true;
    if (tensor->sizes[smallest] <= 1)
      continue;
    uint64_t stride = magnitude(tensor->strides[smallest]);
    if (stride <= extent)
      return false;
    extent += stride * (uint64_t)(tensor->sizes[smallest] - 1);
  }
  return true;
}

static int fail_rows(const report *where, const polyattn_tensor *tensor) {
  return fail(where, "expected an innermost stride of 1, got %" PRId64,
              tensor->strides[tensor->rank - 1]);
}

/* Where a tensor's bytes lie, counted from its data pointer: [begin, end). */
typedef struct extent {
  int64_t begin, end;
} extent;

/* Finds the extent of a tensor that is not empty; false where offsets exceed 64 bits. */
static bool find_extent(const polyattn_tensor *tensor, extent *result) {
  int64_t bytes = polyattn_dtype_bytes(tensor->dtype);
  *result = (extent){0, bytes};
  for (int32_t i = 0; i < tensor->rank; ++i) {
    int64_t step;
    if (__builtin_mul_overflow(tensor->strides[i], bytes, &step) ||
        __builtin_mul_overflow(step, tensor->sizes[i] - 1, &step))
      return false;
    int64_t *side = step < 0 ? &result->begin : &result->end;
    if (__builtin_add_overflow(*side, step, side))
      return false;
  }
  return true;
}

/* Memory: pointer, alignment, strides. */
static int check_memory(const report *where, const polyattn_tensor *tensor) {
  const polyattn_rt_tensor_rule *rule = where->rule;
  if (is_empty(tensor))
    return 0;
  if (!tensor->data)
    return fail(where, "the data pointer is null");
  int64_t bytes = polyattn_dtype_bytes(rule->dtype);
  if ((uintptr_t)tensor->data % (uintptr_t)bytes != 0)
    return fail(where, "expected data aligned to %" PRId64 " bytes, got address %p", bytes,
                tensor->data);
  extent unused;
  if (!find_extent(tensor, &unused))
    return fail(where, "sizes and strides exceed the address space");
  if (!polyattn_rt_has_rows(tensor) && !polyattn_rt_is_weight(rule))
    return fail_rows(where, tensor);
  if (rule->is_result && !is_injective(tensor)) {
    for (int32_t i = 0; i < tensor->rank; ++i)
      if (tensor->strides[i] == 0 && tensor->sizes[i] > 1)
        return fail(where, "expected elements that do not overlap, got stride 0 in dimension %d",
                    (int)i);
    return fail(where, "expected elements that do not overlap, got strides that fold them");
  }
  return 0;
}

/* Offsets of two tensors and their differences, without overflow. */
__extension__ typedef __int128 wide;

/* Whether tensors a and b share a byte. Each consists of runs of elements, one at every sum of its
 * steps. They share memory where the steps of a minus those of b land on less than a run, which is
 *
 *   low <= sum of size * index <= high,  0 <= index < count,
 *
 * over the dimensions of both, b's turned round so that all sizes are positive. */
typedef struct step {
  wide size, count;
} step;
typedef struct offsets {
  step steps[2 * POLYATTN_MAX_RANK];   /* from the largest size to the smallest, all different */
  wide reach[2 * POLYATTN_MAX_RANK];   /* what all steps from this one on can sum up to */
  wide divisor[2 * POLYATTN_MAX_RANK]; /* and what divides them */
  int num_steps;
  int budget;
} offsets;

static wide greatest_divisor(wide a, wide b) {
  while (b != 0) {
    wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Equal sizes become one step that takes their counts together; that is the same set of sums. */
static void add_step(offsets *all, wide size, wide count) {
  int at = 0;
  while (at < all->num_steps && all->steps[at].size > size)
    ++at;
  if (at < all->num_steps && all->steps[at].size == size) {
    all->steps[at].count += count - 1;
    return;
  }
  for (int i = all->num_steps++; i > at; --i)
    all->steps[i] = all->steps[i - 1];
  all->steps[at] = (step){size, count};
}

static void finish_steps(offsets *all) {
  wide reach = 0, divisor = 0;
  for (int i = all->num_steps; i-- > 0;) {
    reach += all->steps[i].size * (all->steps[i].count - 1);
    divisor = greatest_divisor(all->steps[i].size, divisor);
    all->reach[i] = reach;
    all->divisor[i] = divisor;
  }
}

static wide floor_divide(wide a, wide b) { return a / b - (a % b < 0); }

/* Whether steps from `first` on reach [low, high]. Steps of views of one buffer contain one
 * another, so that one or two indices of each are left to try; where strides have been made up and
 * there are more than a budget of them, the answer is yes. */
static bool reaches(offsets *all, int first, wide low, wide high) {
  if (low <= 0 && high >= 0)
    return true;
  if (first == all->num_steps || high < 0 || low > all->reach[first])
    return false;
  if (floor_divide(high, all->divisor[first]) * all->divisor[first] < low)
    return false;
  const step *own = &all->steps[first];
  wide rest = first + 1 < all->num_steps ? all->reach[first + 1] : 0;
  wide from = -floor_divide(rest - low, own->size), to = floor_divide(high, own->size);
  if (from < 0)
    from = 0;
  if (to > own->count - 1)
    to = own->count - 1;
  for (wide index = from; index <= to; ++index) {
    if (all->budget-- <= 0)
      return true;
    if (reaches(all, first + 1, low - index * own->size, high - index * own->size))
      return true;
  }
  return false;
}

typedef struct layout {
  wide start; /* the lowest byte */
  wide run;   /* bytes that lie without a gap */
  wide reach; /* from the first run to the last */
} layout;

/* Adds the steps of a tensor's dimensions, in bytes, but for those that are inside of its runs. */
static layout add_tensor(offsets *all, const polyattn_tensor *tensor) {
  wide bytes = polyattn_dtype_bytes(tensor->dtype);
  layout result = {(wide)(uintptr_t)tensor->data, bytes, 0};
  bool in_run[POLYATTN_MAX_RANK] = {false};
  for (bool grew = true; grew;) {
    grew = false;
    for (int32_t i = 0; i < tensor->rank; ++i)
      if (!in_run[i] && tensor->sizes[i] > 1 &&
          (wide)magnitude(tensor->strides[i]) * bytes == result.run) {
        result.run *= tensor->sizes[i];
        in_run[i] = grew = true;
      }
  }
  for (int32_t i = 0; i < tensor->rank; ++i) {
    wide size = (wide)magnitude(tensor->strides[i]) * bytes, last = tensor->sizes[i] - 1;
    if (tensor->strides[i] < 0)
      result.start -= size * last;
    if (in_run[i] || size == 0 || last == 0)
      continue;
    add_step(all, size, last + 1);
    result.reach += size * last;
  }
  return result;
}

/* Whether all bytes of one tensor come before all of the other's, as those of allocations of their
 * own do: then nothing has to be looked at closely. */
static bool are_apart(const polyattn_tensor *a, const polyattn_tensor *b) {
  extent x, y;
  if (!find_extent(a, &x) || !find_extent(b, &y))
    return false;
  wide distance = (wide)(uintptr_t)b->data - (wide)(uintptr_t)a->data;
  return x.end <= distance + y.begin || distance + y.end <= x.begin;
}

/* Whether two tensors of one shape are one. */
static bool are_same(const polyattn_tensor *a, const polyattn_tensor *b) {
  bool same = is_empty(a) || a->data == b->data;
  for (int32_t i = 0; i < a->rank; ++i)
    same &= a->sizes[i] == b->sizes[i] && (a->sizes[i] <= 1 || a->strides[i] == b->strides[i]);
  return same;
}

/* Whether two tensors share memory. Views that interleave, as those of one packed buffer, do not.
 */
static bool overlap(const polyattn_tensor *a, const polyattn_tensor *b) {
  if (is_empty(a) || is_empty(b) || are_apart(a, b))
    return false;
  offsets all = {.budget = 10000};
  layout x = add_tensor(&all, a), y = add_tensor(&all, b);
  finish_steps(&all);
  wide between = y.start - x.start + y.reach;
  return reaches(&all, 0, between - x.run + 1, between + y.run - 1);
}

int polyattn_rt_check(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                      int64_t num_tensors, polyattn_rt_sizes *sizes, char *error,
                      size_t error_size) {
  report where = {kernel, NULL, error, error_size};
  const polyattn_rt_tensor_rule *first[POLYATTN_NAMED_SIZES] = {NULL};
  for (int i = 0; i < POLYATTN_NAMED_SIZES; ++i)
    sizes->values[i] = -1;
  if (num_tensors != kernel->num_tensors)
    return fail(&where, "expected %" PRId64 " tensors, got %" PRId64, kernel->num_tensors,
                num_tensors);
  for (int64_t i = 0; i < num_tensors; ++i) {
    where.rule = &kernel->tensors[i];
    if (!tensors || !tensors[i])
      return fail(&where, "the tensor is null");
    if (tensors[i]->dtype != where.rule->dtype)
      return fail(&where, "expected element type %s, got %s (%d)", dtype_name(where.rule->dtype),
                  dtype_name(tensors[i]->dtype), (int)tensors[i]->dtype);
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
      return fail(&where, "expected %s = %" PRId64 ", which the spec fixes, got %" PRId64,
                  polyattn_size_name(-1 - i), kernel->fixed[i], sizes->values[i]);
    }
  }
  int64_t sequences = sizes->values[-POLYATTN_SIZE_N - 1];
  int64_t bounds = sizes->values[-POLYATTN_SIZE_N1 - 1];
  if (kernel->offsets && (bounds < 1 || (sequences >= 0 && bounds - 1 != sequences))) {
    where.rule = &kernel->tensors[kernel->offsets - 1];
    if (sequences >= 0)
      return fail(&where, "expected N + 1 offsets, of N = %" PRId64 " sequences, got %" PRId64,
                  sequences, bounds);
    return fail(&where, "expected N + 1 offsets, at least one, got none");
  }
  int64_t heads = sizes->values[-POLYATTN_SIZE_H - 1];
  int64_t key_heads = sizes->values[-POLYATTN_SIZE_HKV - 1];
  if (heads >= 0 && key_heads >= 0 && (key_heads == 0 ? heads != 0 : heads % key_heads != 0)) {
    where.rule = first[-POLYATTN_SIZE_HKV - 1];
    return fail(&where,
                "expected a number of heads that divides H = %" PRId64 ", got Hkv = %" PRId64,
                heads, key_heads);
  }
  for (int64_t i = 0; i < num_tensors; ++i)
    for (int64_t j = 0; j < i; ++j) {
      /* Results come last: of a result and an argument, i is the result. */
      where.rule = &kernel->tensors[i];
      if (where.rule->lives_in == j + 1) {
        if (!are_same(tensors[i], tensors[j]))
          return fail(&where, "expected the memory of argument '%s', in which it lives",
                      kernel->tensors[j].name);
      } else if (where.rule->is_result && overlap(tensors[i], tensors[j]))
        return fail(&where, "expected memory of its own, got that of %s '%s'",
                    kernel->tensors[j].is_result ? "result" : "argument", kernel->tensors[j].name);
    }
  return 0;
}

int polyattn_rt_check_rows(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                           char *error, size_t error_size) {
  for (int64_t i = 0; i < kernel->num_tensors; ++i) {
    const report where = {kernel, &kernel->tensors[i], error, error_size};
    if (!is_empty(tensors[i]) && !polyattn_rt_has_rows(tensors[i]))
      return fail_rows(&where, tensors[i]);
  }
  return 0;
}

static int64_t element(const polyattn_tensor *vector, int64_t i) {
  i *= vector->strides[0];
  return vector->dtype == POLYATTN_I64 ? ((const int64_t *)vector->data)[i]
                                       : ((const int32_t *)vector->data)[i];
}

/* Slots are rows of the pools, each once, or below zero. */
static int check_slots(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                       const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  enum { FEW = 4096 };
  if (!kernel->slots)
    return 0;
  const polyattn_tensor *slots = tensors[kernel->slots - 1];
  const report where = {kernel, &kernel->tensors[kernel->slots - 1], error, error_size};
  int64_t rows = polyattn_rt_size(sizes, POLYATTN_SIZE_P), batches = slots->sizes[0];
  uint64_t few[FEW / 64] = {0}, *taken = few;
  for (int64_t batch = 0; batch < batches; ++batch)
    if (element(slots, batch) >= rows)
      return fail(&where,
                  "expected a slot below P = %" PRId64 ", got %" PRId64 " for batch %" PRId64, rows,
                  element(slots, batch), batch);
  if (rows > FEW && !(taken = calloc((size_t)rows / 64 + 1, sizeof *taken)))
    return fail(&where, "out of memory");
  int64_t twice = -1;
  for (int64_t batch = 0; batch < batches && twice < 0; ++batch) {
    int64_t slot = element(slots, batch);
    if (slot < 0)
      continue;
    uint64_t bit = (uint64_t)1 << (slot % 64);
    if (taken[slot / 64] & bit)
      twice = batch;
    taken[slot / 64] |= bit;
  }
  if (taken != few)
    free(taken);
  if (twice < 0)
    return 0;
  int64_t before = 0;
  while (element(slots, before) != element(slots, twice))
    ++before;
  return fail(&where,
              "expected another slot than that of batch %" PRId64 ", got %" PRId64
              " for batch %" PRId64,
              before, element(slots, twice), twice);
}

static int check_lengths(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                         const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  if (!kernel->lengths)
    return 0;
  const polyattn_tensor *lengths = tensors[kernel->lengths - 1];
  const report where = {kernel, &kernel->tensors[kernel->lengths - 1], error, error_size};
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
  for (int64_t batch = 0; batch < lengths->sizes[0]; ++batch) {
    int64_t length = element(lengths, batch);
    if (length < 0 || length > positions)
      return fail(&where,
                  "expected a length from 0 to T = %" PRId64 ", got %" PRId64 " for batch %" PRId64,
                  positions, length, batch);
  }
  return 0;
}

/* Whether packed sequences follow one another and fill all positions. */
static int check_offsets(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                         const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  if (!kernel->offsets)
    return 0;
  const polyattn_tensor *offsets = tensors[kernel->offsets - 1];
  const report where = {kernel, &kernel->tensors[kernel->offsets - 1], error, error_size};
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
  int64_t rows = polyattn_rt_size(sizes, POLYATTN_SIZE_L);
  int64_t last = element(offsets, 0);
  if (last != 0)
    return fail(&where, "expected the first offset to be 0, got %" PRId64, last);
  for (int64_t i = 1; i < offsets->sizes[0]; ++i) {
    int64_t value = element(offsets, i);
    if (value < last)
      return fail(&where,
                  "expected at least the offset before, %" PRId64 ", got %" PRId64 " at %" PRId64,
                  last, value, i);
    if (rows >= 0 && value - last > rows)
      return fail(&where,
                  "expected sequences no longer than tables, L = %" PRId64 ", got %" PRId64
                  " positions in sequence %" PRId64,
                  rows, value - last, i - 1);
    last = value;
  }
  if (positions >= 0 && last != positions)
    return fail(&where, "expected the last offset to be T = %" PRId64 ", got %" PRId64, positions,
                last);
  return 0;
}

/* Whether calls can begin where the entry's tensor says: kernels read tables of positions from
 * there on without a further look. Slots and lengths are as they should be. */
static int check_first(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                       const polyattn_rt_sizes *sizes, char *error, size_t error_size) {
  int64_t unit = kernel->first.unit;
  if (unit == 0)
    return 0;
  const polyattn_tensor *first = tensors[kernel->first.tensor];
  const polyattn_tensor *offsets = kernel->offsets ? tensors[kernel->offsets - 1] : NULL;
  const char *what = offsets ? "sequence" : "batch";
  const report where = {kernel, &kernel->tensors[kernel->first.tensor], error, error_size};
  int64_t positions = polyattn_rt_size(sizes, POLYATTN_SIZE_T);
  int64_t keys = polyattn_rt_size(sizes, POLYATTN_SIZE_TK);
  int64_t rows = polyattn_rt_size(sizes, POLYATTN_SIZE_L);
  if (keys > positions)
    positions = keys;
  int64_t limit = rows >= 0 ? rows : POLYATTN_RT_MAX_POSITION;
  for (int64_t batch = 0; batch < first->sizes[0]; ++batch) {
    int64_t value = element(first, batch), length = positions;
    if (kernel->slots && element(tensors[kernel->slots - 1], batch) < 0)
      continue;
    if (kernel->lengths)
      length = element(tensors[kernel->lengths - 1], batch);
    if (offsets)
      length = element(offsets, batch + 1) - element(offsets, batch);
    if (value < 0)
      return fail(&where, "expected a position of at least 0, got %" PRId64 " for %s %" PRId64,
                  value, what, batch);
    if (value % unit != 0)
      return fail(&where,
                  "expected a multiple of the local block, %" PRId64 ", got %" PRId64
                  " for %s %" PRId64,
                  unit, value, what, batch);
    if (length > limit)
      return fail(&where,
                  "expected tables of at least %" PRId64 " rows, they have L = %" PRId64
                  ", got %" PRId64 " for %s %" PRId64,
                  length, limit, value, what, batch);
    if (value > limit - length)
      return fail(&where,
                  "expected at most %" PRId64 ", so that %" PRId64 " rows end within %s%" PRId64
                  " positions, got %" PRId64 " for %s %" PRId64,
                  limit - length, length, rows >= 0 ? "the tables' L = " : "", limit, value, what,
                  batch);
  }
  return 0;
}

int polyattn_rt_check_values(const polyattn_rt_kernel *kernel,
                             const polyattn_tensor *const *tensors, const polyattn_rt_sizes *sizes,
                             char *error, size_t error_size) {
  return check_slots(kernel, tensors, sizes, error, error_size) ||
         check_lengths(kernel, tensors, sizes, error, error_size) ||
         check_offsets(kernel, tensors, sizes, error, error_size) ||
         check_first(kernel, tensors, sizes, error, error_size);
}

/*===- overlap.c - which memory tensors have, and share -------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "check.h"

bool polyattn_rt_is_empty(const polyattn_tensor *tensor) {
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->sizes[i] == 0)
      return true;
  return false;
}

static uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Dimensions from the smallest stride up: each must step over everything inside it. */
bool polyattn_rt_is_injective(const polyattn_tensor *tensor) {
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

bool polyattn_rt_is_addressable(const polyattn_tensor *tensor) {
  extent unused;
  return find_extent(tensor, &unused);
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

bool polyattn_rt_are_same(const polyattn_tensor *a, const polyattn_tensor *b) {
  bool same = polyattn_rt_is_empty(a) || a->data == b->data;
  for (int32_t i = 0; i < a->rank; ++i)
    same &= a->sizes[i] == b->sizes[i] && (a->sizes[i] <= 1 || a->strides[i] == b->strides[i]);
  return same;
}

bool polyattn_rt_overlap(const polyattn_tensor *a, const polyattn_tensor *b) {
  if (polyattn_rt_is_empty(a) || polyattn_rt_is_empty(b) || are_apart(a, b))
    return false;
  offsets all = {.budget = 10000};
  layout x = add_tensor(&all, a), y = add_tensor(&all, b);
  finish_steps(&all);
  wide between = y.start - x.start + y.reach;
  return reaches(&all, 0, between - x.run + 1, between + y.run - 1);
}

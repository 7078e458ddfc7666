/*===- order.c - programs of packed sequences, longest first --------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#include "order.h"
#include "cancel.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static int64_t offset_at(const polyattn_rt_memref *offsets, int64_t dtype, int64_t i) {
  i = offsets->offset + i * offsets->dimensions[1];
  return dtype == POLYATTN_I64 ? ((const int64_t *)offsets->aligned)[i]
                               : ((const int32_t *)offsets->aligned)[i];
}

/* Sequences of one length stay side by side as they are numbered, so that chunks of them are one
 * range of programs. */
static int compare(const void *left, const void *right) {
  const polyattn_rt_sequence *a = left, *b = right;
  if (a->cost != b->cost)
    return a->cost > b->cost ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

void polyattn_rt_find_order(const polyattn_rt_kernel *kernel, const polyattn_rt_memref *descriptors,
                            const polyattn_rt_team *team, polyattn_rt_order *order) {
  order->count = 0;
  order->cost = 0;
  order->sequences = order->on_stack;
  if (!kernel->offsets || team->threads < 2)
    return;
  const polyattn_rt_memref *offsets = &descriptors[kernel->offsets - 1];
  int64_t dtype = kernel->tensors[kernel->offsets - 1].dtype;
  int64_t count = offsets->dimensions[0] - 1;
  if (count > POLYATTN_RT_SEQUENCES_ON_STACK) {
    order->sequences = malloc((size_t)count * sizeof *order->sequences);
    if (!order->sequences)
      return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t length = offset_at(offsets, dtype, i + 1) - offset_at(offsets, dtype, i);
    order->sequences[i] = (polyattn_rt_sequence){i, (double)(length > 1 ? length : 1), 0};
  }
  qsort(order->sequences, (size_t)count, sizeof *order->sequences, compare);
  for (int64_t i = 0; i < count; ++i) {
    order->sequences[i].before = order->cost;
    order->cost += order->sequences[i].cost;
  }
  order->count = count;
}

void polyattn_rt_release_order(polyattn_rt_order *order) {
  if (order->sequences != order->on_stack)
    free(order->sequences);
}

int polyattn_rt_has_order(const polyattn_rt_order *order, const polyattn_rt_kernel *kernel,
                          const polyattn_rt_stage_rule *stage) {
  if (order->count == 0 || stage->num_programs == 0 || stage->kind == POLYATTN_RT_STAGE_CHAINED)
    return 0;
  const polyattn_rt_extent *first = &stage->programs[0];
  return first->base == POLYATTN_RT_DIMENSION && first->tensor == kernel->offsets - 1 &&
         first->dimension == 0 && first->plus == -1 && first->divisor == 1 && first->times == 1;
}

typedef struct ordered {
  polyattn_rt_range function;
  void *context;
  const polyattn_rt_order *order;
  int64_t count, each; /* programs: all, and of one sequence */
  int64_t threads;
  polyattn_rt_cancellation *cancellation;
  _Atomic int64_t next; /* in the order: the first program that nobody has taken */
} ordered;

/* Where the chunk from `begin` on ends: it costs half of an equal share of what is left, and has
 * `most` programs at most. */
static int64_t end_of_chunk(const ordered *work, int64_t begin, int64_t most) {
  const polyattn_rt_sequence *sequences = work->order->sequences;
  const polyattn_rt_sequence *first = &sequences[begin / work->each];
  double left = (work->order->cost - first->before) * (double)work->each -
                first->cost * (double)(begin % work->each);
  double share = left / (2 * (double)work->threads), cost = first->cost;
  int64_t end = begin + 1;
  int64_t last = most < work->count - begin ? begin + most : work->count;
  while (end < last && (cost += sequences[end / work->each].cost) <= share)
    ++end;
  return end;
}

static bool take(ordered *work, int64_t most, int64_t *begin, int64_t *end) {
  *begin = atomic_load_explicit(&work->next, memory_order_relaxed);
  while (*begin < work->count) {
    *end = end_of_chunk(work, *begin, most);
    if (atomic_compare_exchange_weak_explicit(&work->next, begin, *end, memory_order_relaxed,
                                              memory_order_relaxed))
      return true;
  }
  return false;
}

/* Runs a chunk as ranges of programs as they are numbered, as few as there are. */
static void run_chunk(const ordered *work, int64_t begin, int64_t end, void *scratch) {
  const polyattn_rt_sequence *sequences = work->order->sequences;
  int64_t each = work->each, from = -1, to = -1;
  while (begin < end) {
    int64_t first = sequences[begin / each].number * each + begin % each;
    int64_t rest = each - begin % each;
    int64_t programs = rest < end - begin ? rest : end - begin;
    if (first != to) {
      if (from < to)
        work->function(work->context, from, to, scratch);
      from = first;
    }
    to = first + programs;
    begin += programs;
  }
  work->function(work->context, from, to, scratch);
}

/* What a thread does: chunks until none is left or the call has been cancelled. */
static void run_thread(void *context, int64_t begin, int64_t end, void *scratch) {
  ordered *work = context;
  polyattn_rt_pace pace = polyattn_rt_pace_of(work->cancellation);
  int64_t most, first, last;
  (void)begin, (void)end;
  while ((most = polyattn_rt_next_chunk(&pace)) > 0 && take(work, most, &first, &last))
    run_chunk(work, first, last, scratch);
}

int polyattn_rt_parallel_in_order(polyattn_rt_range function, void *context, int64_t count,
                                  const polyattn_rt_order *order, const polyattn_rt_team *team,
                                  int64_t scratch_bytes) {
  if (count <= 0)
    return 0;
  ordered work = {.function = function,
                  .context = context,
                  .order = order,
                  .count = count,
                  .each = count / order->count,
                  .threads = team->threads < count ? team->threads : count,
                  .cancellation = team->cancellation};
  return polyattn_rt_parallel(run_thread, &work, work.threads, team, scratch_bytes);
}

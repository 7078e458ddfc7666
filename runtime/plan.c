/*===- plan.c - the stages of an entry, one after another -----------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* A call has descriptors, workspaces, and the scratch of programs that keep it beside the caller's
 * tensors. The descriptors of most calls fit the stack, and where a call is not cut its workspaces
 * have no elements: short calls allocate nothing. An entry without workspaces needs none of it.
 *
 * Sums of several splits of a long sequence would take too much memory, so it is computed in
 * rounds: all stages for some positions, then all for the next ones. */
#include "generated_code.h"
#include "order.h"
#include "runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes that the workspaces of one round may take. */
#define MAX_ROUND_BYTES ((int64_t)8 << 20)

/* Those of a hundred tensors and a dozen workspaces of a call that is not split. */
#define DESCRIPTOR_BYTES_ON_STACK 4096

/* The arguments of a kernel for the splits that one program computes. */
typedef struct split_tensors {
  void **pointers;
  polyattn_rt_memref *workspaces;
  int64_t launch[4];
} split_tensors;

typedef struct execution {
  const polyattn_rt_kernel *kernel;
  const polyattn_rt_team *team;
  const polyattn_rt_order *order;  /* of packed sequences */
  const polyattn_rt_memref *whole; /* the caller's tensors */
  polyattn_rt_launch launch;       /* of a round's sizes */
  polyattn_rt_memref *tensors;     /* of a round, NULL where there is one for all positions */
  const int64_t **sizes;           /* of them */
  int64_t num_turns;               /* how often stages of splits run */
  int has_next_round;              /* whether the positions are more than one round's */
  split_tensors *splits;           /* of each turn */
  char **data;                     /* of each workspace, NULL where it has no elements */
  char *scratch;                   /* of each program and turn of stages that keep it */
} execution;

typedef struct stage_work {
  polyattn_rt_function function;
  void **pointers; /* of all turns, one after another */
  int64_t num_pointers, num_turns;
  char *scratch; /* of each program and turn, or NULL for the threads' own */
  int64_t scratch_bytes;
  const execution *all; /* where threads have workspaces of their own, behind their scratch */
  const polyattn_rt_stage_rule *stage;
} stage_work;

/* Whether each program has a part of the workspace, in its thread's scratch. */
static int is_in_scratch(const execution *all, int64_t workspace) {
  return all->kernel->plan.workspaces[workspace].fill == POLYATTN_RT_FILL_PROGRAM;
}

/* The bytes of the part that a program has of a workspace, or -1 where they overflow. */
static int64_t part_bytes(const execution *all, int64_t workspace) {
  polyattn_rt_workspace_rule rule = all->kernel->plan.workspaces[workspace];
  memmove(rule.sizes, rule.sizes + rule.rank - 2, 2 * sizeof rule.sizes[0]);
  rule.rank = 2;
  return polyattn_rt_workspace_bytes(&rule, &all->launch);
}

/* The scratch of a thread: the kernel's, and behind it the pointers to all tensors and the parts of
 * workspaces that programs have, each with its description. -1 where it overflows. */
static int64_t thread_bytes(const execution *all, const polyattn_rt_stage_rule *stage) {
  int64_t tensors = all->kernel->num_tensors + stage->num_workspaces, parts = 0;
  int64_t bytes = polyattn_rt_round_up(stage->scratch_bytes) +
                  polyattn_rt_round_up(tensors * (int64_t)sizeof(void *));
  for (int64_t i = 0; i < stage->num_workspaces; ++i) {
    if (!is_in_scratch(all, stage->workspaces[i]))
      continue;
    int64_t part = part_bytes(all, stage->workspaces[i]);
    if (part < 0 ||
        __builtin_add_overflow(bytes,
                               polyattn_rt_round_up((int64_t)sizeof(polyattn_rt_memref)) +
                                   polyattn_rt_round_up(part),
                               &bytes))
      return -1;
    ++parts;
  }
  return parts ? bytes : stage->scratch_bytes;
}

/* The pointers to all tensors, for programs of the thread whose scratch this is. */
static void **thread_pointers(const stage_work *work, char *scratch) {
  const execution *all = work->all;
  const polyattn_rt_stage_rule *stage = work->stage;
  int64_t tensors = all->kernel->num_tensors, count = tensors + stage->num_workspaces;
  char *next = scratch + polyattn_rt_round_up(stage->scratch_bytes);
  void **pointers = (void **)next;
  memcpy(pointers, work->pointers, (size_t)count * sizeof(void *));
  next += polyattn_rt_round_up(count * (int64_t)sizeof(void *));
  for (int64_t i = 0; i < stage->num_workspaces; ++i) {
    int64_t number = stage->workspaces[i];
    if (!is_in_scratch(all, number))
      continue;
    polyattn_rt_memref *memref = (polyattn_rt_memref *)next;
    *memref = *(const polyattn_rt_memref *)work->pointers[tensors + i];
    next += polyattn_rt_round_up((int64_t)sizeof *memref);
    memref->allocated = memref->aligned = next;
    next += polyattn_rt_round_up(part_bytes(all, number));
    pointers[tensors + i] = memref;
  }
  return pointers;
}

POLYATTN_CALLS_GENERATED_CODE
static void run_range(void *context, int64_t begin, int64_t end, void *scratch) {
  const stage_work *work = context;
  if (work->all) {
    work->function(thread_pointers(work, scratch), begin, end, scratch);
    return;
  }
  if (work->num_turns == 1 && !work->scratch) {
    work->function(work->pointers, begin, end, scratch);
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t program = i / work->num_turns, turn = i % work->num_turns;
    void *own = work->scratch ? work->scratch + i * work->scratch_bytes : scratch;
    work->function(work->pointers + turn * work->num_pointers, program, program + 1, own);
  }
}

/* The programs of a stage, in the order that balances them. */
static int run_programs(const polyattn_rt_kernel *kernel, const polyattn_rt_stage_rule *stage,
                        stage_work *work, int64_t count, const polyattn_rt_order *order,
                        const polyattn_rt_team *team, int64_t scratch_bytes) {
  if (work->num_turns == 1 && polyattn_rt_has_order(order, kernel, stage))
    return polyattn_rt_parallel_in_order(run_range, work, count, order, team, scratch_bytes);
  if (stage->kind == POLYATTN_RT_STAGE_CHAINED)
    return polyattn_rt_parallel_in_sequence(run_range, work, count, team, scratch_bytes);
  return polyattn_rt_parallel(run_range, work, count, team, scratch_bytes);
}

/* Whether the positions are those of one round after another. */
static int runs_in_rounds(const execution *all) { return all->launch.splits > 1; }

static int runs_for_splits(const polyattn_rt_stage_rule *stage) {
  return stage->kind == POLYATTN_RT_STAGE_PER_SPLIT ||
         stage->kind == POLYATTN_RT_STAGE_COMBINES_SPLITS;
}

/* Whether there is nothing to run. */
static int is_idle(const polyattn_rt_stage_rule *stage, const polyattn_rt_launch *launch) {
  return stage->kind == POLYATTN_RT_STAGE_COMBINES_SPLITS && launch->splits == 1;
}

/* All programs of a thread find their part of a workspace in one place: the dimensions that count
 * programs are shared. */
static void describe_workspace(const execution *all, int64_t number, split_tensors *own,
                               polyattn_rt_memref *memref) {
  const polyattn_rt_workspace_rule *rule = &all->kernel->plan.workspaces[number];
  int64_t sizes[POLYATTN_MAX_RANK];
  for (int64_t i = 0; i < rule->rank; ++i)
    sizes[i] = polyattn_rt_extent_value(&rule->sizes[i], &all->launch);
  char *data = rule->fill == POLYATTN_RT_FILL_LAUNCH ? (char *)own->launch : all->data[number];
  polyattn_rt_describe_dense(data, rule->rank, is_in_scratch(all, number) ? rule->rank - 2 : 0,
                             sizes, memref);
}

/* The numbers of a launch: splits that follow each other, as many in each turn or one less; the
 * programs that combine them take blocks in turn. */
static void number_turn(const execution *all, const polyattn_rt_stage_rule *stage, int64_t turn) {
  int64_t *launch = all->splits[turn].launch, splits = all->launch.splits, turns = all->num_turns;
  int combines = stage->kind == POLYATTN_RT_STAGE_COMBINES_SPLITS;
  launch[0] = combines ? turn : turn * splits / turns;
  launch[1] = combines ? turns : (turn + 1) * splits / turns;
}

static int run_stage(const execution *all, const polyattn_rt_stage_rule *stage) {
  int64_t num_tensors = all->kernel->num_tensors, turns = 1;
  int64_t programs =
      is_idle(stage, &all->launch) ? 0 : polyattn_rt_count_programs(stage, &all->launch);
  if (programs == 0)
    return 0;
  int64_t bytes = thread_bytes(all, stage);
  if (bytes < 0)
    return 1;
  if (runs_for_splits(stage))
    turns = all->num_turns;
  for (int64_t turn = 0; turn < turns; ++turn) {
    split_tensors *own = &all->splits[turn];
    number_turn(all, stage, turn);
    for (int64_t i = 0; i < stage->num_workspaces; ++i) {
      describe_workspace(all, stage->workspaces[i], own, &own->workspaces[i]);
      own->pointers[num_tensors + i] = &own->workspaces[i];
    }
  }
  int keeps = all->has_next_round && stage->kind == POLYATTN_RT_STAGE_PER_SPLIT;
  stage_work work = {.function = stage->function,
                     .pointers = all->splits[0].pointers,
                     .num_pointers = num_tensors + all->kernel->plan.num_workspaces,
                     .num_turns = turns,
                     .scratch = keeps ? all->scratch : NULL,
                     .scratch_bytes = polyattn_rt_round_up(stage->scratch_bytes),
                     .all = bytes == stage->scratch_bytes ? NULL : all,
                     .stage = stage};
  return run_programs(all->kernel, stage, &work, programs * turns, all->order, all->team,
                      keeps ? 0 : bytes);
}

/* The positions [start, start + length) of all tensors that have positions, as a round. */
static void cut(execution *all, int64_t start, int64_t length) {
  for (int64_t i = 0; i < all->kernel->num_tensors; ++i) {
    const polyattn_rt_tensor_rule *rule = &all->kernel->tensors[i];
    all->tensors[i] = all->whole[i];
    for (int64_t d = 0; d < rule->rank; ++d) {
      if (rule->sizes[d] != POLYATTN_SIZE_T && rule->sizes[d] != POLYATTN_SIZE_TK)
        continue;
      all->tensors[i].dimensions[d] = length;
      all->tensors[i].offset += start * all->whole[i].dimensions[rule->rank + d];
    }
  }
}

/* What a workspace needs of memory; the numbers of a launch lie in its turn's description, and the
 * parts of programs in the scratch of threads. */
static int64_t stored_bytes(const execution *all, int64_t number) {
  const polyattn_rt_workspace_rule *rule = &all->kernel->plan.workspaces[number];
  if (rule->fill == POLYATTN_RT_FILL_LAUNCH || rule->fill == POLYATTN_RT_FILL_PROGRAM)
    return 0;
  return polyattn_rt_workspace_bytes(rule, &all->launch);
}

/* The bytes of all workspaces together, or -1 where they overflow. */
static int64_t workspace_bytes(const execution *all) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < all->kernel->plan.num_workspaces; ++i) {
    int64_t own = stored_bytes(all, i);
    if (own < 0 || __builtin_add_overflow(bytes, polyattn_rt_round_up(own), &bytes))
      return -1;
  }
  return bytes;
}

/* The bytes of scratch of all programs that keep theirs from round to round, or -1 where they
 * overflow. */
static int64_t kept_scratch(const execution *all) {
  int64_t most = 0;
  for (int64_t i = 0; i < all->kernel->plan.num_stages && all->has_next_round; ++i) {
    const polyattn_rt_stage_rule *stage = &all->kernel->plan.stages[i];
    int64_t bytes = polyattn_rt_count_programs(stage, &all->launch);
    if (stage->kind != POLYATTN_RT_STAGE_PER_SPLIT)
      continue;
    if (bytes < 0 || __builtin_mul_overflow(bytes, all->num_turns, &bytes) ||
        __builtin_mul_overflow(bytes, polyattn_rt_round_up(stage->scratch_bytes), &bytes))
      return -1;
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Positions of one round: as many as fit the memory for workspaces, in multiples of the rule's. */
static int64_t choose_length(execution *all, int64_t positions) {
  if (!runs_in_rounds(all))
    return positions;
  int64_t multiple = polyattn_rt_find_choice(&all->kernel->plan, POLYATTN_RT_SPLITS)->multiple;
  cut(all, 0, multiple);
  int64_t bytes = workspace_bytes(all);
  int64_t count = bytes > 0 ? MAX_ROUND_BYTES / bytes : 1;
  int64_t length = (count > 1 ? count : 1) * multiple;
  return length < positions ? length : positions;
}

/* The descriptors, whose number is known before a round's sizes are. `memory` is to be freed, NULL
 * where they fit `on_stack`. Returns whether there was memory. */
static int place_descriptors(execution *all, char *on_stack, char **memory) {
  int64_t num_tensors = all->kernel->num_tensors, turns = all->num_turns;
  int64_t num_workspaces = all->kernel->plan.num_workspaces;
  int64_t cut_tensors = runs_in_rounds(all) ? num_tensors : 0;
  int64_t tensors = polyattn_rt_round_up(cut_tensors * (int64_t)sizeof(polyattn_rt_memref));
  int64_t sizes = polyattn_rt_round_up(num_tensors * (int64_t)sizeof(void *));
  int64_t own = polyattn_rt_round_up(turns * (int64_t)sizeof(split_tensors));
  int64_t pointers =
      polyattn_rt_round_up(turns * (num_tensors + num_workspaces) * (int64_t)sizeof(void *));
  int64_t memrefs =
      polyattn_rt_round_up(turns * num_workspaces * (int64_t)sizeof(polyattn_rt_memref));
  int64_t data = polyattn_rt_round_up(num_workspaces * (int64_t)sizeof(char *));
  int64_t bytes = tensors + sizes + own + pointers + memrefs + data;
  *memory = bytes > DESCRIPTOR_BYTES_ON_STACK ? aligned_alloc(64, (size_t)bytes) : NULL;
  char *next = *memory ? *memory : on_stack;
  if (!*memory && bytes > DESCRIPTOR_BYTES_ON_STACK)
    return 0;
  all->tensors = cut_tensors ? (polyattn_rt_memref *)next : NULL;
  const polyattn_rt_memref *seen = cut_tensors ? all->tensors : all->whole;
  all->sizes = (const int64_t **)(next += tensors);
  all->splits = (split_tensors *)(next += sizes);
  void **all_pointers = (void **)(next += own);
  polyattn_rt_memref *all_memrefs = (polyattn_rt_memref *)(next += pointers);
  all->data = (char **)(next + memrefs);
  for (int64_t i = 0; i < num_tensors; ++i)
    all->sizes[i] = seen[i].dimensions;
  for (int64_t turn = 0; turn < turns; ++turn) {
    split_tensors *mine = &all->splits[turn];
    mine->pointers = all_pointers + turn * (num_tensors + num_workspaces);
    mine->workspaces = all_memrefs + turn * num_workspaces;
    for (int64_t i = 0; i < num_tensors; ++i)
      mine->pointers[i] = (void *)&seen[i];
  }
  all->launch.sizes = all->sizes;
  return 1;
}

/* Workspaces and kept scratch, for the round that is cut now, which is the largest. `memory` is to
 * be released, NULL where none of them has elements. Returns whether there was memory. */
static int allocate_data(execution *all, polyattn_rt_buffer *memory, int64_t *bytes) {
  *memory = (polyattn_rt_buffer){NULL, 0};
  int64_t scratch = kept_scratch(all), total = workspace_bytes(all);
  *bytes = INT64_MAX;
  if (scratch < 0 || total < 0 || __builtin_add_overflow(total, scratch, &total))
    return 0;
  *bytes = total;
  if (total == 0) {
    for (int64_t i = 0; i < all->kernel->plan.num_workspaces; ++i)
      all->data[i] = NULL;
    return 1;
  }
  if (polyattn_rt_workspaces_acquire(total, memory) != 0)
    return 0;
  char *next = memory->data;
  for (int64_t i = 0; i < all->kernel->plan.num_workspaces; ++i) {
    int64_t own = stored_bytes(all, i);
    all->data[i] = own > 0 ? next : NULL;
    if (own > 0)
      next += polyattn_rt_round_up(own);
  }
  all->scratch = next;
  return 1;
}

/* All stages of the positions from `start` on, after which `left` are left. */
static int run_round(execution *all, int64_t start, int64_t left) {
  const polyattn_rt_plan *plan = &all->kernel->plan;
  int status;
  for (int64_t turn = 0; turn < all->num_turns; ++turn) {
    all->splits[turn].launch[2] = start;
    all->splits[turn].launch[3] = left;
  }
  for (int64_t i = 0; i < plan->num_workspaces; ++i)
    if (plan->workspaces[i].fill == POLYATTN_RT_FILL_ZERO && all->data[i])
      memset(all->data[i], 0,
             (size_t)polyattn_rt_workspace_bytes(&plan->workspaces[i], &all->launch));
  for (int64_t i = 0; i < plan->num_stages; ++i)
    if ((status = run_stage(all, &plan->stages[i])) != 0)
      return status;
  return 0;
}

static int complain(const polyattn_rt_kernel *kernel, int64_t bytes, char *error,
                    size_t error_size) {
  snprintf(error, error_size, "%s: no memory for %" PRId64 " bytes of workspaces", kernel->name,
           bytes);
  return 1;
}

static int run_with_workspaces(const polyattn_rt_kernel *kernel, const polyattn_rt_launch *launch,
                               const polyattn_rt_memref *descriptors, int64_t positions,
                               const polyattn_rt_order *order, const polyattn_rt_team *team,
                               char *error, size_t error_size) {
  execution all = {
      .kernel = kernel, .team = team, .order = order, .whole = descriptors, .launch = *launch};
  all.num_turns = polyattn_rt_count_turns(&kernel->plan, launch, team->threads);
  _Alignas(64) char on_stack[DESCRIPTOR_BYTES_ON_STACK];
  char *memory;
  polyattn_rt_buffer data;
  if (!place_descriptors(&all, on_stack, &memory))
    return complain(kernel, 0, error, error_size);
  int64_t length = choose_length(&all, positions), start = 0, bytes;
  /* Without splits the tensors stay as they are, whatever has positions. */
  int in_rounds = runs_in_rounds(&all);
  all.has_next_round = in_rounds && length < positions;
  if (in_rounds)
    cut(&all, 0, length);
  int status = allocate_data(&all, &data, &bytes) ? 0 : complain(kernel, bytes, error, error_size);
  /* Once even where there are no positions: the final state is then the initial one. */
  while (status == 0) {
    status = run_round(&all, start, positions - start > length ? positions - start - length : 0);
    if (status == 1)
      complain(kernel, bytes, error, error_size);
    start += length;
    if (!in_rounds || start >= positions)
      break;
    cut(&all, start, positions - start < length ? positions - start : length);
  }
  polyattn_rt_workspaces_release(data);
  free(memory);
  return status;
}

static int run_without_workspaces(const polyattn_rt_kernel *kernel,
                                  const polyattn_rt_launch *launch, void **pointers,
                                  const polyattn_rt_order *order, const polyattn_rt_team *team,
                                  char *error, size_t error_size) {
  for (int64_t i = 0; i < kernel->plan.num_stages; ++i) {
    const polyattn_rt_stage_rule *stage = &kernel->plan.stages[i];
    stage_work work = {.function = stage->function,
                       .pointers = pointers,
                       .num_turns = 1,
                       .scratch_bytes = stage->scratch_bytes};
    int status = run_programs(kernel, stage, &work, polyattn_rt_count_programs(stage, launch),
                              order, team, stage->scratch_bytes);
    if (status == POLYATTN_RT_CANCELLED)
      return status;
    if (status != 0) {
      snprintf(error, error_size, "%s: no memory for %" PRId64 " bytes of scratch", kernel->name,
               stage->scratch_bytes);
      return 1;
    }
  }
  return 0;
}

int polyattn_rt_run_plan(const polyattn_rt_kernel *kernel, const polyattn_rt_launch *launch,
                         const polyattn_rt_memref *descriptors, void **pointers, int64_t positions,
                         const polyattn_rt_team *team, char *error, size_t error_size) {
  polyattn_rt_order order;
  polyattn_rt_find_order(kernel, descriptors, team, &order);
  int status =
      kernel->plan.num_workspaces > 0
          ? run_with_workspaces(kernel, launch, descriptors, positions, &order, team, error,
                                error_size)
          : run_without_workspaces(kernel, launch, pointers, &order, team, error, error_size);
  polyattn_rt_release_order(&order);
  if (status == POLYATTN_RT_CANCELLED)
    snprintf(error, error_size, "%s: the call has been cancelled", kernel->name);
  return status;
}

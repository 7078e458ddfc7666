/*===- plan.h - how the kernels of an entry are launched --------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* The op `tile.entry` as tables: workspaces, which the launcher brings along, stages, which run one
 * after another, and choices, numbers that the launcher finds for each call. One form for
 * processors and GPUs; docs/TileDialect.md says what each part means. */
#ifndef POLYATTN_RUNTIME_PLAN_H
#define POLYATTN_RUNTIME_PLAN_H

#include "polyattn-c/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLYATTN_RT_MAX_FACTORS 6
#define POLYATTN_RT_MAX_WORKSPACES 512

/* What an extent is counted in. */
enum {
  POLYATTN_RT_NUMBER,
  POLYATTN_RT_DIMENSION, /* of one of the caller's tensors */
  POLYATTN_RT_SEGMENTS,
  POLYATTN_RT_SPLITS,
  POLYATTN_RT_PARTS
};

/* times * ceildiv(base + plus, divisor), and nothing below zero. */
typedef struct polyattn_rt_extent {
  int64_t base, tensor, dimension, plus, divisor, times;
} polyattn_rt_extent;

/* What a workspace holds before the first stage. */
enum {
  POLYATTN_RT_FILL_NONE,
  POLYATTN_RT_FILL_ZERO,
  /* Four int64: the first split and the one behind the last, or which program of a head combines
   * splits and how many do; the first row's position, and how many rows come after the last. */
  POLYATTN_RT_FILL_LAUNCH,
  /* Nothing. All dimensions but the last two count programs, and a program reads only what it has
   * written itself: the threads of a processor have one part each, in their scratch. */
  POLYATTN_RT_FILL_PROGRAM
};

/* A dense tensor that the launcher brings along. */
typedef struct polyattn_rt_workspace_rule {
  int64_t dtype, fill, rank;
  polyattn_rt_extent sizes[POLYATTN_MAX_RANK];
} polyattn_rt_workspace_rule;

/* How the programs of a stage run. */
enum {
  POLYATTN_RT_STAGE,
  /* Launched once for each group of splits. Where a call takes several rounds, each program's
   * scratch stays between rounds. */
  POLYATTN_RT_STAGE_PER_SPLIT,
  POLYATTN_RT_STAGE_COMBINES_SPLITS, /* as often; not where there is one split */
  POLYATTN_RT_STAGE_CHAINED,         /* a program begins when those before it have begun */
  /* Leaves what the keys of each segment add to a state, for the stage that computes results. */
  POLYATTN_RT_STAGE_SUMS_SEGMENTS
};

/* Compiled code: runs the programs [begin, end). `tensors[i]` points to the strided memref
 * descriptor of the i-th tensor: the caller's, inputs first, then the stage's workspaces;
 * `scratch` is the thread's own. */
typedef void (*polyattn_rt_function)(void *const *tensors, int64_t begin, int64_t end,
                                     void *scratch);

/* The number of programs is the product of the extents. */
typedef struct polyattn_rt_stage_rule {
  polyattn_rt_function function; /* NULL on GPUs */
  int64_t kind, scratch_bytes;
  int64_t cluster; /* CTAs of a program; 1 on processors */
  polyattn_rt_extent programs[POLYATTN_RT_MAX_FACTORS];
  int64_t num_programs;
  const int64_t *workspaces; /* indices into the plan's workspaces */
  int64_t num_workspaces;
} polyattn_rt_stage_rule;

/* The kind is the extent's base that stands for the choice; what a kind does not have is 0. */
typedef struct polyattn_rt_choice_rule {
  int64_t kind;
  polyattn_rt_extent of; /* positions of segments and splits, items of parts */
  int64_t block, multiple, min_positions, prefix_cost_percent, subsegments, max, bytes;
} polyattn_rt_choice_rule;

typedef struct polyattn_rt_plan {
  const polyattn_rt_workspace_rule *workspaces;
  int64_t num_workspaces;
  const polyattn_rt_stage_rule *stages;
  int64_t num_stages;
  const polyattn_rt_choice_rule *choices;
  int64_t num_choices;
} polyattn_rt_plan;

/* What extents are counted with: the sizes of each of the caller's tensors, and what is chosen. */
typedef struct polyattn_rt_launch {
  const int64_t *const *sizes;
  int64_t segments, splits, parts;
} polyattn_rt_launch;

/* The number, or -1 where it does not fit. */
int64_t polyattn_rt_extent_value(const polyattn_rt_extent *extent,
                                 const polyattn_rt_launch *launch);
/* The product, or -1 where it does not fit; of no extents 1. */
int64_t polyattn_rt_count_extents(const polyattn_rt_extent *extents, int64_t count,
                                  const polyattn_rt_launch *launch);
int64_t polyattn_rt_count_programs(const polyattn_rt_stage_rule *stage,
                                   const polyattn_rt_launch *launch);
/* The bytes of all elements, or -1 where they are more than any memory has. A workspace of splits
 * has bytes only where there are several. */
int64_t polyattn_rt_workspace_bytes(const polyattn_rt_workspace_rule *workspace,
                                    const polyattn_rt_launch *launch);
/* Whether a workspace is for several splits only: its first dimension is theirs. */
int polyattn_rt_is_of_splits(const polyattn_rt_workspace_rule *workspace);

/* Who runs programs, and what the model must know of them. A processor's thread runs one program
 * at a time, and takes long to do so: cutting is only for threads that would have none. On a GPU
 * any number of programs run in waves, one or a few CTAs on each multiprocessor. */
typedef struct polyattn_rt_workers {
  int64_t count;
  int64_t resident;        /* program instances that a worker runs at a time, which share it */
  int one_program_each;    /* never more program instances than workers */
  int64_t processors;      /* for splits; 0 to ask the system when it matters */
  int64_t max_bytes;       /* of workspaces, and of scratch where that counts */
  int counts_scratch;      /* every program has its scratch, in the same memory */
  double blocks_of_prefix; /* what adding the state of one segment to another costs, in blocks */
  double blocks_of_launch; /* what one more stage costs, in blocks */
} polyattn_rt_workers;

/* The threads of a processor, and the multiprocessors of a GPU. */
polyattn_rt_workers polyattn_rt_threads(int64_t count);
polyattn_rt_workers polyattn_rt_multiprocessors(int64_t count, int64_t resident_ctas);

/* Makes the plan's choices for a call of these sizes. Splits and parts follow from the sizes and
 * the machine, segments from the workers, too. */
void polyattn_rt_choose(const polyattn_rt_plan *plan, const polyattn_rt_workers *workers,
                        polyattn_rt_launch *launch);
/* How many parts a call of these sizes has; 1 where the plan has none. */
int64_t polyattn_rt_choose_parts(const polyattn_rt_plan *plan, const polyattn_rt_launch *launch);
/* How often the stages of splits run: as many programs share a head's splits as there are threads
 * for. What they compute is the same whatever their number. */
int64_t polyattn_rt_count_turns(const polyattn_rt_plan *plan, const polyattn_rt_launch *launch,
                                int64_t threads);
/* The choice of a kind, or NULL. */
const polyattn_rt_choice_rule *polyattn_rt_find_choice(const polyattn_rt_plan *plan, int64_t kind);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_PLAN_H */

/*===- choose.c - into how many programs a call is cut --------------------===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* With fewer heads than workers, several programs share a head.
 *
 * Segments of positions. A first stage computes what the keys of each segment add to the state, for
 * all segments at once; each segment of the main stage then begins with what the segments before it
 * have added: a prefix sum over states. That is more work in all, so their number follows from the
 * workers. The model's unit of time is what a block takes in the main stage; workers run programs
 * in waves.
 *
 * Splits of features. Each program holds parts of the state for the whole sequence, and a second
 * stage adds the partial results of all parts. No product is computed twice, and the number of
 * parts follows from the sizes and the machine, never from the caller's threads: results do not
 * depend on those. Into how many programs the threads take the parts is another number: a program
 * forms once what all of its parts need.
 *
 * Parts of a sum over many programs, such as a gradient of a weight. Their number follows from the
 * sizes alone. */
#include "plan.h"

#include <stddef.h>
#include <unistd.h>

/* Every segment adds up the states of the segments before it, so many segments cost more than they
 * save. */
#define MAX_SEGMENTS 32
/* The shortest segment, in blocks: shorter ones would spend their time on their first and last
 * block. */
#define MIN_BLOCKS 8
/* Segments are chosen where the model promises less than this share of the time: it knows neither
 * memory bandwidth nor synchronization. */
#define WORTHWHILE 0.9
/* By how much of its own time each further instance makes those longer that a worker runs with it.
 * On an H200 it was 0.1 to 0.5 for kernels that wait for memory or for each other, and 1 for one
 * that the second-level cache bounds. */
#define SHARING 0.5
/* How many programs may share the features of one head. */
#define MAX_SPLITS 16
/* The most bytes of workspace that the partial results of all parts may take. */
#define MAX_PART_BYTES ((int64_t)256 << 20)

static int64_t divide_up(int64_t number, int64_t by) { return number / by + (number % by != 0); }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

polyattn_rt_workers polyattn_rt_threads(int64_t count) {
  polyattn_rt_workers workers = {
      .count = count, .resident = 1, .one_program_each = 1, .max_bytes = (int64_t)32 << 20};
  return workers;
}

/* `max_bytes` is what a caller with a large state would still expect; the costs of a prefix and of
 * a launch are estimates. */
polyattn_rt_workers polyattn_rt_multiprocessors(int64_t count, int64_t resident_ctas) {
  polyattn_rt_workers workers = {.count = count,
                                 .resident = resident_ctas > 1 ? resident_ctas : 1,
                                 .max_bytes = (int64_t)1 << 30,
                                 .counts_scratch = 1,
                                 .blocks_of_prefix = 0.5,
                                 .blocks_of_launch = 1};
  return workers;
}

const polyattn_rt_choice_rule *polyattn_rt_find_choice(const polyattn_rt_plan *plan, int64_t kind) {
  for (int64_t i = 0; i < plan->num_choices; ++i)
    if (plan->choices[i].kind == kind)
      return &plan->choices[i];
  return NULL;
}

static int has_segments(const polyattn_rt_stage_rule *stage) {
  for (int64_t i = 0; i < stage->num_programs; ++i)
    if (stage->programs[i].base == POLYATTN_RT_SEGMENTS)
      return 1;
  return 0;
}

/* The stage that computes results, a program for each segment; NULL where there is none. */
static const polyattn_rt_stage_rule *main_stage(const polyattn_rt_plan *plan) {
  for (int64_t i = 0; i < plan->num_stages; ++i)
    if (plan->stages[i].kind != POLYATTN_RT_STAGE_SUMS_SEGMENTS && has_segments(&plan->stages[i]))
      return &plan->stages[i];
  return NULL;
}

/* Programs and the CTAs of each; -1 where they are too many to count. */
static int64_t count_instances(const polyattn_rt_stage_rule *stage,
                               const polyattn_rt_launch *launch) {
  int64_t count = polyattn_rt_count_programs(stage, launch);
  return count < 0 || __builtin_mul_overflow(count, stage->cluster, &count) ? -1 : count;
}

/* Whether the workspaces of a launch fit the memory that the workers allow for them. */
static int fits(const polyattn_rt_plan *plan, const polyattn_rt_launch *launch,
                const polyattn_rt_workers *workers) {
  int64_t bytes = 0, own;
  for (int64_t i = 0; i < plan->num_workspaces; ++i) {
    own = polyattn_rt_workspace_bytes(&plan->workspaces[i], launch);
    if (own < 0 || __builtin_add_overflow(bytes, own, &bytes))
      return 0;
  }
  if (workers->counts_scratch) {
    const polyattn_rt_stage_rule *stage = main_stage(plan);
    own = count_instances(stage, launch);
    if (own < 0 || __builtin_mul_overflow(own, stage->scratch_bytes, &own) ||
        __builtin_add_overflow(bytes, own, &bytes))
      return 0;
  }
  return bytes <= workers->max_bytes;
}

/* The time of a stage whose programs take `length` alone: the busiest worker's. */
static double time_of_stage(int64_t instances, double length, const polyattn_rt_workers *workers) {
  int64_t used = workers->one_program_each ? instances : workers->count;
  int64_t each = divide_up(instances, used), together = workers->resident;
  int64_t waves = each / together, rest = each % together;
  double wave = 1 + (double)(together - 1) * SHARING;
  double last = rest ? 1 + (double)(rest - 1) * SHARING : 0;
  return ((double)waves * wave + last) * length;
}

/* The time of a launch in blocks, or -1 where there are too many programs. */
static double time_of(const polyattn_rt_plan *plan, const polyattn_rt_choice_rule *rule,
                      int64_t units, const polyattn_rt_launch *launch,
                      const polyattn_rt_workers *workers) {
  const polyattn_rt_stage_rule *main = main_stage(plan);
  double length =
      (double)divide_up(units, launch->segments) * ((double)rule->multiple / (double)rule->block);
  int64_t instances = count_instances(main, launch);
  if (instances < 0)
    return -1;
  double time = time_of_stage(instances, length, workers);
  if (launch->segments == 1)
    return time;
  double prefix = length * (double)rule->prefix_cost_percent / (double)(100 * rule->subsegments);
  for (int64_t i = 0; i < plan->num_stages; ++i) {
    const polyattn_rt_stage_rule *stage = &plan->stages[i];
    if (stage->kind != POLYATTN_RT_STAGE_SUMS_SEGMENTS)
      continue;
    instances = count_instances(stage, launch);
    if (instances < 0)
      return -1;
    time += time_of_stage(instances, prefix, workers) + workers->blocks_of_launch;
  }
  return time + (double)(launch->segments - 1) * workers->blocks_of_prefix;
}

static int64_t choose_segments(const polyattn_rt_plan *plan, const polyattn_rt_choice_rule *rule,
                               const polyattn_rt_workers *workers, polyattn_rt_launch launch) {
  const polyattn_rt_stage_rule *main = main_stage(plan);
  int64_t positions = polyattn_rt_extent_value(&rule->of, &launch);
  launch.segments = 1;
  int64_t alone = main ? count_instances(main, &launch) : 0;
  if (positions < rule->min_positions || positions < 1 || alone < 1 || workers->count < 1)
    return 1;
  int64_t units = divide_up(positions, rule->multiple);
  int64_t shortest = divide_up(MIN_BLOCKS * rule->block, rule->multiple);
  int64_t most = smaller(MAX_SEGMENTS, units / shortest);
  if (workers->one_program_each)
    most = smaller(most, workers->count / alone);
  if (most < 2)
    return 1;
  int64_t best = 1;
  double least = WORTHWHILE * time_of(plan, rule, units, &launch, workers);
  for (launch.segments = 2; launch.segments <= most; ++launch.segments) {
    /* Skips counts that leave the last segment empty: a smaller count gives segments of the same
     * length.
     */
    if ((launch.segments - 1) * divide_up(units, launch.segments) >= units ||
        !fits(plan, &launch, workers))
      continue;
    double time = time_of(plan, rule, units, &launch, workers);
    if (time >= 0 && time < least) {
      least = time;
      best = launch.segments;
    }
  }
  return best;
}

/* The programs of the first stage that runs for each split. */
static int64_t count_heads(const polyattn_rt_plan *plan, const polyattn_rt_launch *launch) {
  for (int64_t i = 0; i < plan->num_stages; ++i)
    if (plan->stages[i].kind == POLYATTN_RT_STAGE_PER_SPLIT)
      return polyattn_rt_count_programs(&plan->stages[i], launch);
  return 0;
}

static int64_t choose_splits(const polyattn_rt_plan *plan, const polyattn_rt_choice_rule *rule,
                             const polyattn_rt_workers *workers, const polyattn_rt_launch *launch) {
  int64_t positions = polyattn_rt_extent_value(&rule->of, launch);
  int64_t programs = count_heads(plan, launch);
  if (positions < rule->min_positions || positions < 4 * rule->multiple || programs < 1)
    return 1;
  /* Asked last: the answer comes from a file, which takes as long as a short call. */
  int64_t processors =
      workers->processors > 0 ? workers->processors : (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (processors <= programs)
    return 1;
  return smaller(smaller(divide_up(processors, programs), rule->max), MAX_SPLITS);
}

int64_t polyattn_rt_count_turns(const polyattn_rt_plan *plan, const polyattn_rt_launch *launch,
                                int64_t threads) {
  int64_t programs = launch->splits > 1 ? count_heads(plan, launch) : 0;
  return programs < 1 ? 1 : smaller(launch->splits, divide_up(threads, programs));
}

/* The programs of one part, in the stage that has most of them: each has a sum of its own. */
static int64_t programs_of_part(const polyattn_rt_plan *plan, polyattn_rt_launch launch) {
  int64_t most = 1;
  launch.parts = 1;
  for (int64_t i = 0; i < plan->num_stages; ++i)
    for (int64_t j = 0; j < plan->stages[i].num_programs; ++j)
      if (plan->stages[i].programs[j].base == POLYATTN_RT_PARTS) {
        int64_t count = polyattn_rt_count_programs(&plan->stages[i], &launch);
        most = count > most ? count : most;
      }
  return most;
}

int64_t polyattn_rt_choose_parts(const polyattn_rt_plan *plan, const polyattn_rt_launch *launch) {
  const polyattn_rt_choice_rule *rule = polyattn_rt_find_choice(plan, POLYATTN_RT_PARTS);
  if (!rule)
    return 1;
  int64_t items = polyattn_rt_extent_value(&rule->of, launch);
  int64_t programs = programs_of_part(plan, *launch);
  int64_t parts = smaller(items, divide_up(rule->max, programs));
  parts = smaller(parts, MAX_PART_BYTES / rule->bytes / programs);
  return parts > 1 ? parts : 1;
}

void polyattn_rt_choose(const polyattn_rt_plan *plan, const polyattn_rt_workers *workers,
                        polyattn_rt_launch *launch) {
  launch->segments = launch->splits = launch->parts = 1;
  for (int64_t i = 0; i < plan->num_choices; ++i) {
    const polyattn_rt_choice_rule *rule = &plan->choices[i];
    if (rule->kind == POLYATTN_RT_PARTS)
      launch->parts = polyattn_rt_choose_parts(plan, launch);
    else if (rule->kind == POLYATTN_RT_SPLITS)
      launch->splits = choose_splits(plan, rule, workers, launch);
    else if (rule->kind == POLYATTN_RT_SEGMENTS)
      launch->segments = choose_segments(plan, rule, workers, *launch);
  }
}

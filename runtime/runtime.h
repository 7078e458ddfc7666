/*===- runtime.h - what surrounds compiled code -----------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* C11 and POSIX threads, nothing of LLVM: the JIT links this into its process, and
 * polyattn-compile puts a copy into every shared library that it writes. Generated code
 * depends on the structs here and the numbers in them; POLYATTN_RT_VERSION counts their changes. */
#ifndef POLYATTN_RUNTIME_H
#define POLYATTN_RUNTIME_H

#include "plan.h"
#include "polyattn-c/parallel.h"
#include "polyattn-c/sizes.h"
#include "polyattn-c/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POLYATTN_RT_VERSION 9

/* What an entry wants of one tensor. */
typedef struct polyattn_rt_tensor_rule {
  const char *name;
  int32_t is_result;
  int32_t dtype;
  int64_t rank;
  int64_t sizes[POLYATTN_MAX_RANK]; /* a number, or POLYATTN_SIZE_... */
  int64_t lives_in; /* of a result in the memory of an argument: 1 + that tensor, else 0 */
} polyattn_rt_tensor_rule;

/* A set of what processors can have, or need not. */
#define POLYATTN_RT_FEATURE_WORDS 2
typedef struct polyattn_rt_cpu_features {
  uint64_t bits[POLYATTN_RT_FEATURE_WORDS];
} polyattn_rt_cpu_features;

/* Where calls begin in their sequences. */
typedef struct polyattn_rt_first_rule {
  int64_t tensor; /* i32 or i64 [B], the position of row 0 */
  int64_t unit;   /* calls begin at multiples of this, the local block; 0 without such a tensor */
} polyattn_rt_first_rule;

/* The most that a named size may be, which the shape of an argument says. */
typedef struct polyattn_rt_limit_rule {
  int64_t most;   /* 0 without a limit */
  int64_t tensor; /* that argument */
} polyattn_rt_limit_rule;

/* Positions must be exact in f64: a call that would go beyond this one is refused. */
#define POLYATTN_RT_MAX_POSITION ((int64_t)1 << 53)

/* One entry point. */
typedef struct polyattn_rt_kernel {
  const char *name;
  const polyattn_rt_tensor_rule *tensors;
  int64_t num_tensors;
  polyattn_rt_plan plan;
  const char *cpu; /* what the code was compiled for, "x86-64-v4" or "native"; or NULL */
  int64_t
      fixed[POLYATTN_NAMED_SIZES]; /* values of named sizes that the entry fixes, -1 where free */
  polyattn_rt_cpu_features cpu_features; /* all that its instructions need */
  polyattn_rt_first_rule first;
  /* 1 + the tensor, i32 or i64 [B], 0 without one; [N] where sequences are packed. */
  int64_t slots;   /* the row of each batch in pools of states */
  int64_t lengths; /* how many positions of each batch count */
  int64_t offsets; /* [N + 1], where packed sequences begin and end */
  /* T is the length of each sequence where these are packed, and where calls continue sequences
   * (slots) that of what has come until the call's end. */
  polyattn_rt_limit_rule limits[POLYATTN_NAMED_SIZES];
} polyattn_rt_kernel;

#if defined(__cplusplus)
#define POLYATTN_RT_ASSERT static_assert
#else
#define POLYATTN_RT_ASSERT _Static_assert
#endif
POLYATTN_RT_ASSERT(sizeof(void *) == 8, "generated code assumes 64-bit pointers");
POLYATTN_RT_ASSERT(sizeof(polyattn_rt_tensor_rule) == 32 + 8 * POLYATTN_MAX_RANK, "layout");
POLYATTN_RT_ASSERT(sizeof(polyattn_rt_extent) == 48, "layout");
POLYATTN_RT_ASSERT(sizeof(polyattn_rt_workspace_rule) == 24 + 48 * POLYATTN_MAX_RANK, "layout");
POLYATTN_RT_ASSERT(sizeof(polyattn_rt_stage_rule) == 32 + 48 * POLYATTN_RT_MAX_FACTORS + 24,
                   "layout");
POLYATTN_RT_ASSERT(sizeof(polyattn_rt_choice_rule) == 8 + 48 + 56, "layout");
POLYATTN_RT_ASSERT(sizeof(polyattn_rt_kernel) == 24 + 48 + 8 + 8 * 9 + 16 + 16 + 24 + 16 * 9,
                   "layout");

/* Adds a feature under LLVM's name. Returns 1 where this runtime knows no such feature. */
int polyattn_rt_add_cpu_feature(const char *name, size_t length, polyattn_rt_cpu_features *to);
/* The name of one that this processor, or its operating system, lacks; NULL where there is none. */
const char *polyattn_rt_missing_cpu_feature(const polyattn_rt_cpu_features *needed);

/* Conversions of f16 under the names that code generators call where processors have none; no
 * names where the runtime has none. */
typedef struct polyattn_rt_named_function {
  const char *name;
  void (*function)(void);
} polyattn_rt_named_function;
extern const polyattn_rt_named_function polyattn_rt_half_functions[2];

/* Values of the named sizes, at index -name - 1; -1 where no tensor has the size. */
typedef struct polyattn_rt_sizes {
  int64_t values[POLYATTN_NAMED_SIZES];
} polyattn_rt_sizes;

/* Compares the caller's tensors with the entry's rules. Returns 0 and the sizes, or 1 and one
 * line that names the argument, what was expected and what came. */
int polyattn_rt_check(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                      int64_t num_tensors, polyattn_rt_sizes *sizes, char *error,
                      size_t error_size);

/* An argument that neither sequences nor tables of positions have a part in: a weight, a vector.
 * It may have any strides; those of all other tensors are 1 in the innermost dimension. */
int polyattn_rt_is_weight(const polyattn_rt_tensor_rule *rule);
/* Whether elements of the innermost dimension lie one after another. */
int polyattn_rt_has_rows(const polyattn_tensor *tensor);
/* For tensors that polyattn_rt_check has accepted: also refuses weights whose innermost stride is
 * not 1, for launchers that cannot copy them. */
int polyattn_rt_check_rows(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                           char *error, size_t error_size);

/* For tensors that polyattn_rt_check has accepted: checks the values that decide which memory is
 * read, the rows of pools, the lengths, offsets, and the positions at which calls begin, and the
 * lengths of sequences that have a limit. Their memory is this process's, not a GPU's. */
int polyattn_rt_check_values(const polyattn_rt_kernel *kernel,
                             const polyattn_tensor *const *tensors, const polyattn_rt_sizes *sizes,
                             char *error, size_t error_size);

/* Whether a call has been cancelled, cancel.h. */
struct polyattn_rt_cancellation;

/* The threads of one call: how many, the caller's included, and whose. */
typedef struct polyattn_rt_team {
  int threads;
  polyattn_parallel_for parallel_for; /* NULL: workers of the runtime's own */
  void *user;
  struct polyattn_rt_cancellation *cancellation; /* NULL: the call runs to its end */
} polyattn_rt_team;

/* What calls without a parallel_for of their own use from now on; NULL: the runtime's workers. */
void polyattn_rt_set_parallel_for(polyattn_parallel_for parallel_for, void *user);
/* A team of `threads` threads of the parallel loop that has been set. */
polyattn_rt_team polyattn_rt_team_of(int threads);
/* Returns 0, or 1 and one line in `error`. The team is of a call that runs to its end. */
int polyattn_rt_read_options(const polyattn_call_options *options, polyattn_rt_team *team,
                             char *error, size_t error_size);
/* Whether the options, of any version, say how the caller cancels the call. */
int polyattn_rt_can_be_cancelled(const polyattn_call_options *options);

/* What functions that run programs return where the caller has cancelled the call. */
#define POLYATTN_RT_CANCELLED 2

/* Checks, then runs every stage on the team. Results do not depend on whose threads these are,
 * nor on their number but for the rounding of sums where it decides into how many
 * segments positions are cut. Any number of host threads may call at once. Returns 0, or
 * 1 and one line in `error`, and then nothing has been computed; or POLYATTN_RT_CANCELLED and one
 * line, and then some programs have run and others have not. */
int polyattn_rt_run_on(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                       int64_t num_tensors, const polyattn_rt_team *team, char *error,
                       size_t error_size);
/* polyattn_rt_run_on with the threads that a caller's options name. */
int polyattn_rt_run_with(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                         int64_t num_tensors, const polyattn_call_options *options, char *error,
                         size_t error_size);
int polyattn_rt_run(const polyattn_rt_kernel *kernel, const polyattn_tensor *const *tensors,
                    int64_t num_tensors, int threads, char *error, size_t error_size);

/* Runs [0, count) on the team. Each thread begins with an equal share, the same one in every call
 * of as many programs, in chunks that get smaller, and then takes some of others, so that programs
 * of unequal length balance. The calling thread takes part and makes progress even when no other
 * thread is free: calls may come from many threads and from within `function`. Every thread that
 * takes part has `scratch_bytes` of its own, 64-byte aligned. Returns 0, or 1 where there is no
 * memory for the caller's scratch; nothing has run then. Or it returns POLYATTN_RT_CANCELLED once
 * the call has been cancelled: no chunk begins after that, and those that had begun have ended. */
typedef void (*polyattn_rt_range)(void *context, int64_t begin, int64_t end, void *scratch);
int polyattn_rt_parallel(polyattn_rt_range function, void *context, int64_t count,
                         const polyattn_rt_team *team, int64_t scratch_bytes);
/* As polyattn_rt_parallel, with indices handed out in increasing order from one counter. */
int polyattn_rt_parallel_in_sequence(polyattn_rt_range function, void *context, int64_t count,
                                     const polyattn_rt_team *team, int64_t scratch_bytes);

/* Waits for something that other threads do, for about 200 us at most and without sleeping.
 * Returns whether it has happened. */
typedef int (*polyattn_rt_condition)(const void *context);
int polyattn_rt_wait_awake(polyattn_rt_condition happened, const void *context);

/* How many processors the calling thread may use. */
int polyattn_rt_processors(void);

/* MLIR's strided memref, with room for any rank: sizes, then strides, without a gap. */
typedef struct polyattn_rt_memref {
  void *allocated;
  void *aligned;
  int64_t offset;
  int64_t dimensions[2 * POLYATTN_MAX_RANK];
} polyattn_rt_memref;

void polyattn_rt_describe(const polyattn_tensor *tensor, polyattn_rt_memref *memref);
/* A row-major tensor, dense but for its first `shared` dimensions, whose strides are 0. */
void polyattn_rt_describe_dense(void *data, int64_t rank, int64_t shared, const int64_t *sizes,
                                polyattn_rt_memref *memref);

/* Copies the weights whose innermost stride is not 1 and makes their descriptors those of the
 * copies. Returns 0 and memory for the caller to free, NULL where there was nothing to copy, or 1
 * and one line in `error`. */
int polyattn_rt_copy_weights(const polyattn_rt_kernel *kernel,
                             const polyattn_tensor *const *tensors, polyattn_rt_memref *descriptors,
                             void **memory, char *error, size_t error_size);

/* The value of a size or of a name of one, -1 where no tensor has it. */
int64_t polyattn_rt_size(const polyattn_rt_sizes *sizes, int64_t size_or_name);

/* Rounds up to a multiple of the cache line. */
int64_t polyattn_rt_round_up(int64_t bytes);

/* Runs all stages on checked tensors, of `positions` rows; `pointers` are those of the descriptors.
 * Returns 0, or 1 or POLYATTN_RT_CANCELLED and one line in `error`. */
int polyattn_rt_run_plan(const polyattn_rt_kernel *kernel, const polyattn_rt_launch *launch,
                         const polyattn_rt_memref *descriptors, void **pointers, int64_t positions,
                         const polyattn_rt_team *team, char *error, size_t error_size);

/* The calling thread's scratch. `acquire` hands over a buffer of at least `bytes`, NULL where
 * there is no memory, and `release` keeps it for the next time. */
typedef struct polyattn_rt_buffer {
  void *data;
  int64_t bytes;
} polyattn_rt_buffer;
int polyattn_rt_scratch_acquire(int64_t bytes, polyattn_rt_buffer *buffer);
void polyattn_rt_scratch_release(polyattn_rt_buffer buffer);
/* Its workspaces likewise, which are kept up to a few MiB: without new pages a call of one token
 * takes half the time. */
int polyattn_rt_workspaces_acquire(int64_t bytes, polyattn_rt_buffer *buffer);
void polyattn_rt_workspaces_release(polyattn_rt_buffer buffer);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_RUNTIME_H */

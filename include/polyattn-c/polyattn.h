/*===- polyattn.h - the compiler for programs in C --------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
/* C99. Compiles attention specs in memory and runs them on the caller's buffers.
 *
 *   polyattn_error *error = NULL;
 *   polyattn_kernel *kernel = polyattn_compile_file("linear.mlir", NULL, &error);
 *   if (!kernel) { puts(polyattn_error_message(error)); polyattn_error_destroy(error); }
 *
 * Ownership: what a function returns belongs to the caller, who destroys it, unless it says
 * otherwise. Errors: functions that can fail take `polyattn_error **error`, which may be null;
 * upon failure they set it to an error that the caller destroys, upon success they leave
 * it alone. No function aborts or throws on wrong input.
 * Threads: any number of threads may compile at once, and run one kernel at once.
 * Cancellation: whatever may take long takes an `is_cancelled` (polyattn-c/parallel.h) in its
 * options, and once that says so fails with an error of the kind POLYATTN_ERROR_CANCELLED.
 * Functions are available since version 1 unless they say otherwise. */
#ifndef POLYATTN_C_POLYATTN_H
#define POLYATTN_C_POLYATTN_H

#include "polyattn-c/parallel.h"
#include "polyattn-c/sizes.h"
#include "polyattn-c/tensor.h"

#if defined(__GNUC__)
#define POLYATTN_EXPORT __attribute__((visibility("default")))
#else
#define POLYATTN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. A library serves programs built for its version or an older. */
#define POLYATTN_API_VERSION 12
/* The version of the library, that of the header which it was built with. */
POLYATTN_EXPORT int polyattn_api_version(void);

/* Why a function failed. */
typedef struct polyattn_error polyattn_error;
/* Text that lives as long as the error: one line, or one per located diagnostic of a spec. */
POLYATTN_EXPORT const char *polyattn_error_message(const polyattn_error *error);
/* Null is allowed. */
POLYATTN_EXPORT void polyattn_error_destroy(polyattn_error *error);
/* The kinds of errors. Since version 3. */
enum polyattn_error_code {
  POLYATTN_ERROR_OTHER = 0,  /* anything else; the message is one line */
  POLYATTN_ERROR_SPEC = 1,   /* the text of a spec: "file:line:column: error: ..." line by line */
  POLYATTN_ERROR_MEMORY = 2, /* there is not enough memory */
  POLYATTN_ERROR_CANCELLED = 3,  /* the caller has cancelled the call; since version 10 */
  POLYATTN_ERROR_NO_GRADIENT = 4 /* no result of the entry depends on what it is differentiated by:
                                    the spec may be right, and a caller can go on without gradients;
                                    since version 10 */
};
/* The kind of the error, a polyattn_error_code. Since version 3. */
POLYATTN_EXPORT int polyattn_error_kind(const polyattn_error *error);

/* How to compile. Start from POLYATTN_COMPILE_OPTIONS_INIT; strings may be null. */
typedef struct polyattn_compile_options {
  size_t struct_size;          /* sizeof(polyattn_compile_options): later versions add fields */
  const char *entry;           /* the entry; null where the spec has one only */
  const char *target;          /* null is "native"; or x86-64, x86-64-v3, x86-64-v4, x86-64-v4-bf16,
                                  aarch64; since version 7 "cuda" and "cuda:1": see
                                  polyattn_kernel_launch */
  const char *cache_directory; /* null: the user's; "": compile always */
  int32_t optimize_ir;         /* 1: LLVM's -O2 pipeline before code generation */
  /* Since version 2: */
  const char *dtype; /* the element type of the tensors, f32, bf16 or f16; null: the spec's */
  int32_t invariant; /* 1: cut no head into parts; see polyattn_kernel_run */
  /* Since version 4: */
  const char *direction; /* "forward", or null: results; "training": with what gradients need, the
                            forward half of a pair; "backward": gradients, the other half; since
                            version 5 "decode": results, and states that go on in pools; since
                            version 6 "states" and "gradient_states": what a segment of a sequence
                            adds to the states after it, and to the gradients of those before it */
  const char *wrt;       /* "q,k": the arguments whose gradients are wanted; null: all */
  /* Since version 5: */
  int32_t packed; /* 1: sequences one after the other, between offsets, one more argument */
  int32_t unused; /* where a struct of version 5 ends */
  /* Since version 8: */
  int32_t accumulate; /* 1: gradients of weights are added to what their results hold, arguments
                         sum_d_NAME in which these live */
  int32_t unused_8;   /* where a struct of version 8 ends */
  /* Since version 9: */
  int64_t state_every; /* 1 to 1024: keep states after so many positions each, from which gradients
                          take less time, and both entries of a pair say so; 0: keep none */
  /* Since version 10: */
  polyattn_call_cancelled is_cancelled; /* null: a call works to its end. Else it is asked before
                                         the work and every 50 ms, and the call returns at once when
                                         it says so. Nothing has been written then, neither a result
                                         nor a file of the cache; of polyattn_save nothing or all
                                         files. What the compiler has under way ends later, on a
                                         thread of its own, and the process's end waits for that, 10
                                         s at most. */
  void *cancelled_user;                 /* handed to is_cancelled */
  /* Since version 11: */
  const char *sizes; /* "d=64,m=1024": sizes of the entry, or without an entry of all that have
                        them, in place of those of a text in the short form; null: none */
} polyattn_compile_options;
/* The options of a null pointer: the spec's one entry, for this machine. */
#ifdef __cplusplus
#define POLYATTN_COMPILE_OPTIONS_INIT                                                              \
  {sizeof(polyattn_compile_options),                                                               \
   nullptr,                                                                                        \
   nullptr,                                                                                        \
   nullptr,                                                                                        \
   0,                                                                                              \
   nullptr,                                                                                        \
   0,                                                                                              \
   nullptr,                                                                                        \
   nullptr,                                                                                        \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   nullptr,                                                                                        \
   nullptr,                                                                                        \
   nullptr}
#else
#define POLYATTN_COMPILE_OPTIONS_INIT                                                              \
  {sizeof(polyattn_compile_options),                                                               \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL}
#endif

/* One compiled entry. */
typedef struct polyattn_kernel polyattn_kernel;
/* Compiles a spec. `options` may be null. Returns null upon failure. */
POLYATTN_EXPORT polyattn_kernel *polyattn_compile_file(const char *path,
                                                       const polyattn_compile_options *options,
                                                       polyattn_error **error);
/* Compiles `length` bytes of text as polyattn_compile_file does a file; diagnostics call the text
 * `name`. */
POLYATTN_EXPORT polyattn_kernel *polyattn_compile_text(const char *text, size_t length,
                                                       const char *name,
                                                       const polyattn_compile_options *options,
                                                       polyattn_error **error);
/* No call may be running any more. Null is allowed. */
POLYATTN_EXPORT void polyattn_kernel_destroy(polyattn_kernel *kernel);

/* One argument or result. The name lives as long as the kernel. */
typedef struct polyattn_tensor_info {
  const char *name;                 /* as the spec calls it */
  int32_t is_result;                /* 1 for results, 0 for arguments */
  int32_t dtype;                    /* a polyattn_dtype */
  int32_t rank;                     /* how many of the sizes count */
  int64_t sizes[POLYATTN_MAX_RANK]; /* a number, or POLYATTN_SIZE_... */
} polyattn_tensor_info;

/* The entry's name; lives as long as the kernel. */
POLYATTN_EXPORT const char *polyattn_kernel_entry(const polyattn_kernel *kernel);
/* The number of arguments and results together. */
POLYATTN_EXPORT size_t polyattn_kernel_num_tensors(const polyattn_kernel *kernel);
/* The tensor at `index`, arguments in the spec's order and then results. Returns 0, or 1 where
 * there is no such tensor. */
POLYATTN_EXPORT int polyattn_kernel_tensor(const polyattn_kernel *kernel, size_t index,
                                           polyattn_tensor_info *info);
/* What the tensor at `index` is to the attention: "query", "key", "value", "weight", ..., "output",
 * "gradient", or "saved" for what the forward half of a pair gives and the other half takes. Empty
 * where there is no such tensor; lives as long as the kernel. Since version 4. */
POLYATTN_EXPORT const char *polyattn_kernel_tensor_role(const polyattn_kernel *kernel,
                                                        size_t index);
/* The name of the argument or result whose gradient that tensor is, or of the forward half's result
 * that it takes; since version 5 also of the argument in whose memory another result lives. Empty
 * for others; lives as long as the kernel. Since version 4. */
POLYATTN_EXPORT const char *polyattn_kernel_tensor_origin(const polyattn_kernel *kernel,
                                                          size_t index);
/* The index of the argument in whose memory that result lives, whatever it is: a call passes the
 * same memory for both. -1 where it has its own. Since version 8. */
POLYATTN_EXPORT int64_t polyattn_kernel_tensor_place(const polyattn_kernel *kernel, size_t index);
/* The most that a named size, a polyattn_size, may be in a call, or -1 without a limit. T is the
 * length of each sequence where these are packed; where calls continue sequences it is that of what
 * has come until the call's end. `argument`, which may be null, gets the index of the argument
 * whose shape has the limit. Since version 12. */
POLYATTN_EXPORT int64_t polyattn_kernel_limit(const polyattn_kernel *kernel, int64_t size,
                                              size_t *argument);
/* Everything about the kernel as JSON; lives as long as the kernel. */
POLYATTN_EXPORT const char *polyattn_kernel_json(const polyattn_kernel *kernel);

/* Computes the results from the arguments on `threads` threads, the caller's included. The
 * numbers do not depend on it but where positions are cut into segments: there (few heads and
 * features, at least twice as many threads as heads) the number of segments follows from the
 * threads, and sums are rounded by segment. With the option `invariant` nothing is cut: a
 * sequence's bits depend neither on threads, the machine's processors and its batch, nor on where a
 * prefill is cut at multiples of a block. `tensors` has the order of polyattn_kernel_tensor.
 * Returns 0, or 1 with an error that names the argument, what was expected and what came; nothing
 * has been computed then. */
POLYATTN_EXPORT int polyattn_kernel_run(const polyattn_kernel *kernel,
                                        const polyattn_tensor *tensors, size_t num_tensors,
                                        int threads, polyattn_error **error);

/* polyattn_kernel_run with options: how many threads, and whose, and since version 10 whether the
 * call has been cancelled. The kernel can be called again after that. Since version 2. */
POLYATTN_EXPORT int polyattn_kernel_run_with(const polyattn_kernel *kernel,
                                             const polyattn_tensor *tensors, size_t num_tensors,
                                             const polyattn_call_options *options,
                                             polyattn_error **error);

/* GPUs. With target "cuda" a kernel is compiled for the GPU of the calling thread's CUDA context,
 * as a framework has made it, or for the first; with "cuda:1" for the second. The driver's library
 * is loaded then; no CUDA toolkit is needed. Such a kernel keeps the context, and its code is
 * unloaded with it. Its tensors lie in that GPU's memory, and its calls are launches on a stream.
 */

/* The number of the GPU that the kernel is on; -1 for kernels of processors. Since version 7. */
POLYATTN_EXPORT int polyattn_kernel_device(const polyattn_kernel *kernel);

/* How many bytes of workspace a launch on tensors of these sizes needs; their data is not looked
 * at. Returns 0, or 1 with an error. Since version 7. */
POLYATTN_EXPORT int polyattn_kernel_workspace(const polyattn_kernel *kernel,
                                              const polyattn_tensor *tensors, size_t num_tensors,
                                              int64_t *bytes, polyattn_error **error);

/* Puts a call on `stream`, a CUstream or cudaStream_t of the kernel's context, null for the default
 * one, and returns: nothing is waited for and nothing allocated, so that a stream which is captured
 * into a CUDA graph can take it. Tensors are those of polyattn_kernel_run, on the GPU, with the
 * innermost stride 1 also for weights; what tensors of whole numbers hold, slots and offsets,
 * nobody checks. `workspace` is memory of the GPU, aligned to 128 bytes, that until the end of the
 * call nothing else uses; it holds nothing before and after. The calling thread's current context
 * is the same afterwards. Returns 0, or 1 with an error; where that is about the tensors or the
 * workspace nothing has been put on the stream. Since version 7. */
POLYATTN_EXPORT int polyattn_kernel_launch(const polyattn_kernel *kernel,
                                           const polyattn_tensor *tensors, size_t num_tensors,
                                           void *workspace, int64_t workspace_bytes, void *stream,
                                           polyattn_error **error);

/* The application's own threads for all calls of this process that give none of their own: its
 * workers are not disturbed by others then, nor these by them. Null: threads of the library's, the
 * default. Not while calls are running. Since version 2. */
POLYATTN_EXPORT void polyattn_set_parallel_for(polyattn_parallel_for parallel_for, void *user);

/* The states of two segments of a sequence that follow each other, from those of each alone:
 *
 *   result = after + decay * before
 *
 * `before` and `after` are what direction "states" gives of the segments, [B, H, ...], and `decay`
 * is the later one's, [B, H] or [B, H, 1]; null is 1. `after` may be null, which is 0: the decay of
 * both is that of one, combined with that of the other. With gradients of states, by direction
 * "gradient_states", `before` is the later segment's, and `decay` the earlier one's. All hold f32
 * and may have any strides, those of the result row-major ones; the result may be `before` or
 * `after`.
 *
 * Each element is computed in f64 and rounded to f32 once. So n combinations in any order differ
 * from the exact sum by at most n 2^-23 times the sum of the magnitudes that it adds. Where a decay
 * is 0, `before` does not count, whatever it holds. Returns 0, or 1 with an error of one line;
 * nothing has been written then. Since version 6. */
POLYATTN_EXPORT int polyattn_state_combine(const polyattn_tensor *before,
                                           const polyattn_tensor *decay,
                                           const polyattn_tensor *after,
                                           const polyattn_tensor *result, polyattn_error **error);

/* Text that a function made. Null is allowed for all three. Since version 3. */
typedef struct polyattn_string polyattn_string;
/* Its first byte. A zero follows the last one. */
POLYATTN_EXPORT const char *polyattn_string_data(const polyattn_string *string);
/* Its number of bytes, without the zero. */
POLYATTN_EXPORT size_t polyattn_string_length(const polyattn_string *string);
/* Frees it. */
POLYATTN_EXPORT void polyattn_string_destroy(polyattn_string *string);

/* What follows takes a spec as polyattn_compile_text does, with the same options. Without an entry
 * it is about all of the spec's, and "training" means both halves of a pair; the target may be of
 * another architecture; the cache is not asked. Since version 3. */

/* What is decided for the spec, and at what costs, in words for people: what polyattn-compile
 * --explain says. Returns null upon failure. */
POLYATTN_EXPORT polyattn_string *polyattn_explain(const char *text, size_t length, const char *name,
                                                  const polyattn_compile_options *options,
                                                  polyattn_error **error);

/* The spec as MLIR at a level of the compiler: "spec" (as it was read), "schedule" (maps inlined,
 * features simplified, schedules chosen), "tile", "vector" or "llvm" (the dialect); since version 7
 * for a GPU ("cuda", or a chip: "sm_90") "spec", "schedule", "tile", "warp" or "ptx". Returns null
 * upon failure. */
POLYATTN_EXPORT polyattn_string *polyattn_ir(const char *text, size_t length, const char *name,
                                             const char *level,
                                             const polyattn_compile_options *options,
                                             polyattn_error **error);

/* Writes lib`library`.so, `library`.h and `library`.json into `directory`, which is made where it
 * is missing: what polyattn-compile --emit lib writes. Looks for a C compiler to link with. The
 * target is of this machine's architecture. Returns 0, or 1 with an error; nothing has been written
 * then. */
POLYATTN_EXPORT int polyattn_save(const char *text, size_t length, const char *name,
                                  const char *directory, const char *library,
                                  const polyattn_compile_options *options, polyattn_error **error);

/* The reference implementation of one entry: every score by its definition, in f64, on one thread
 * and with no compiled code. It takes O(T^2) time. Since version 3. */
typedef struct polyattn_reference polyattn_reference;
/* Prepares the reference for a spec; `entry`, `dtype`, `sizes` and `is_cancelled` are the only
 * options that count. Returns null upon failure. */
POLYATTN_EXPORT polyattn_reference *
polyattn_reference_create(const char *text, size_t length, const char *name,
                          const polyattn_compile_options *options, polyattn_error **error);
/* No call may be running any more. Null is allowed. */
POLYATTN_EXPORT void polyattn_reference_destroy(polyattn_reference *reference);
/* As polyattn_kernel_entry. */
POLYATTN_EXPORT const char *polyattn_reference_entry(const polyattn_reference *reference);
/* As polyattn_kernel_num_tensors. */
POLYATTN_EXPORT size_t polyattn_reference_num_tensors(const polyattn_reference *reference);
/* As polyattn_kernel_tensor; results are of f64. */
POLYATTN_EXPORT int polyattn_reference_tensor(const polyattn_reference *reference, size_t index,
                                              polyattn_tensor_info *info);
/* As polyattn_kernel_tensor_role: nothing is compiled for it. Since version 10. */
POLYATTN_EXPORT const char *polyattn_reference_tensor_role(const polyattn_reference *reference,
                                                           size_t index);
/* As polyattn_kernel_limit. Since version 12. */
POLYATTN_EXPORT int64_t polyattn_reference_limit(const polyattn_reference *reference, int64_t size,
                                                 size_t *argument);
/* As polyattn_kernel_run. Arguments may be of any floating-point type, POLYATTN_F64 included,
 * whatever the spec stores, and have any strides; results are of POLYATTN_F64. Calls from several
 * threads run one after another. */
POLYATTN_EXPORT int polyattn_reference_run(const polyattn_reference *reference,
                                           const polyattn_tensor *tensors, size_t num_tensors,
                                           polyattn_error **error);
/* polyattn_reference_run with options, of which `is_cancelled` is the only one that counts. It is
 * asked before the work and every 50 ms, and the reference ends within the row that it is at; what
 * the results hold is undefined then. Since version 10. */
POLYATTN_EXPORT int polyattn_reference_run_with(const polyattn_reference *reference,
                                                const polyattn_tensor *tensors, size_t num_tensors,
                                                const polyattn_call_options *options,
                                                polyattn_error **error);

#ifdef __cplusplus
}
#endif

#endif /* POLYATTN_C_POLYATTN_H */

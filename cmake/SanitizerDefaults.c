//===- SanitizerDefaults.c - what instrumented programs run with ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <unistd.h>

/// LLVM's libraries are not instrumented: what they allocate and fill looks poisoned or overflown
/// to code of ours that is. And malloc returns null where there is no memory, as it does without
/// sanitizers: that is an error that users get, and that tests ask for. Stacks for signals are
/// those of LLVM's handlers, which a thread that ends must not give back as the sanitizer's own.
/// Stacks are not copied to find uses after a return: an emulated kernel took 11 GB that way. Less
/// memory waits to be used again, and fewer callers of malloc are written down, than by default:
/// programs of a second take a fifth less time.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allow_user_poisoning=0:detect_container_overflow=0:allocator_may_return_null=1:"
         "use_sigaltstack=0:detect_stack_use_after_return=0:"
         "quarantine_size_mb=8:thread_local_quarantine_size_kb=64:malloc_context_size=5";
}

/// A child after fork has no threads of its parent: all that their stacks point to looks leaked.
static int parent;
__attribute__((constructor)) static void rememberParent(void) { parent = getpid(); }
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return getpid() != parent; }

const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

/// With the stack one sees who called what is undefined.
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }

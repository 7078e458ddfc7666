/*===- generated_code.h - calls of generated code ---------------*- C -*-===*\
 *
 * Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/
#ifndef POLYATTN_RUNTIME_GENERATED_CODE_H
#define POLYATTN_RUNTIME_GENERATED_CODE_H

/* Attribute of a function that calls generated code. UndefinedBehaviorSanitizer reads the type of
 * what is called from the bytes before it; before a kernel there are none, and often no memory
 * either. */
#ifdef __clang__
#define POLYATTN_CALLS_GENERATED_CODE __attribute__((no_sanitize("function")))
#else
#define POLYATTN_CALLS_GENERATED_CODE
#endif

#endif /* POLYATTN_RUNTIME_GENERATED_CODE_H */

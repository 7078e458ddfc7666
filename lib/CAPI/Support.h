//===- Support.h - errors and options of the C API --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CAPI_SUPPORT_H
#define POLYATTN_LIB_CAPI_SUPPORT_H

#include "polyattn-c/polyattn.h"
#include "polyattn/JIT/Compiler.h"
#include <new>

struct polyattn_error {
  std::string message;
  int kind = POLYATTN_ERROR_OTHER;
};

namespace polyattn::capi {

/// What cannot be reported otherwise; nobody needs to free it.
polyattn_error *outOfMemory();

/// Hands an error to a caller who wants one.
void report(polyattn_error **error, std::string message, int kind = POLYATTN_ERROR_OTHER);
void report(polyattn_error **error, llvm::Error failure);

/// Runs `body`; no exception of the standard library may reach a C program.
template <typename Body> auto guarded(polyattn_error **error, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    if (error)
      *error = outOfMemory();
  } catch (const std::exception &exception) {
    report(error, exception.what());
  } catch (...) {
    report(error, "unknown failure");
  }
  return {};
}

/// Runs `body` as `guarded` does. Returns 0, or 1 with its error; an exception is one, too.
int statusOf(polyattn_error **error, llvm::function_ref<llvm::Error()> body);

/// A C program's function as the compiler asks it; empty where it is null.
CancelledByCaller cancelledBy(polyattn_call_cancelled isCancelled, void *user);

/// The fields that a program of an older version knew of, and defaults for the others.
llvm::Expected<JITOptions> readOptions(const polyattn_compile_options *given);

/// One argument or result for a C program; the name stays where it is.
void describe(const TensorDescription &tensor, polyattn_tensor_info &info);

} // namespace polyattn::capi

#endif // POLYATTN_LIB_CAPI_SUPPORT_H

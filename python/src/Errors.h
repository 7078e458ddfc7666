//===- Errors.h - failures as Python's exceptions ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_ERRORS_H
#define POLYATTN_PYTHON_SRC_ERRORS_H

#include "Interrupts.h"
#include "polyattn-c/polyattn.h"
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>

namespace polyattn::python {

/// Raises polyattn.CallError.
[[noreturn]] void raiseCallError(const std::string &message);

/// Raises what a failure of the C API is in Python, SpecError, NoGradientError, CallError or
/// MemoryError, and destroys it.
[[noreturn]] void raise(polyattn_error *error);

/// After a call that set `error`, or left it null: raises what has interrupted it, or its failure,
/// if there is one.
void endCall(Interrupts &interrupts, polyattn_error *error);

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_ERRORS_H

//===- Errors.cpp - failures as Python's exceptions -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Errors.h"
#include "Imported.h"

namespace nb = nanobind;
using namespace polyattn::python;

static Imported callErrorType("polyattn._errors", "CallError");
static Imported specErrorType("polyattn._errors", "SpecError");
static Imported noGradientErrorType("polyattn._errors", "NoGradientError");

[[noreturn]] static void raiseAs(Imported &type, const std::string &message) {
  nb::object exception = type(message);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void polyattn::python::raiseCallError(const std::string &message) {
  raiseAs(callErrorType, message);
}

void polyattn::python::raise(polyattn_error *error) {
  std::string message = polyattn_error_message(error);
  int kind = polyattn_error_kind(error);
  polyattn_error_destroy(error);
  if (kind == POLYATTN_ERROR_MEMORY)
    throw std::bad_alloc();
  raiseAs(kind == POLYATTN_ERROR_NO_GRADIENT ? noGradientErrorType
          : kind == POLYATTN_ERROR_SPEC      ? specErrorType
                                             : callErrorType,
          message);
}

void polyattn::python::endCall(Interrupts &interrupts, polyattn_error *error) {
  if (interrupts.happened()) {
    polyattn_error_destroy(error);
    error = nullptr;
  }
  interrupts.rethrow();
  if (error)
    raise(error);
}

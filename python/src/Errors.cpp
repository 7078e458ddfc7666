//===- Errors.cpp - failures as Python's exceptions -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Errors.h"

namespace nb = nanobind;
using namespace polyattn::python;

nb::object polyattn::python::helper(const char *module, const char *name) {
  return nb::module_::import_(module).attr(name);
}

/// Raises an exception of polyattn._errors.
[[noreturn]] static void raiseNamed(const char *type, const std::string &message) {
  nb::object exception = helper("polyattn._errors", type)(message);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void polyattn::python::raiseCallError(const std::string &message) {
  raiseNamed("CallError", message);
}

void polyattn::python::raise(polyattn_error *error) {
  std::string message = polyattn_error_message(error);
  int kind = polyattn_error_kind(error);
  polyattn_error_destroy(error);
  if (kind == POLYATTN_ERROR_MEMORY)
    throw std::bad_alloc();
  raiseNamed(kind == POLYATTN_ERROR_SPEC ? "SpecError" : "CallError", message);
}

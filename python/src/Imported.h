//===- Imported.h - what calls need of Python's modules ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_IMPORTED_H
#define POLYATTN_PYTHON_SRC_IMPORTED_H

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <utility>

namespace polyattn::python {

/// An object of a module, one of the package's functions in Python for instance, which do what is
/// seldom and long. It is imported when it is first asked for, and lives as long as the process.
class Imported {
public:
  constexpr Imported(const char *module, const char *name) : module(module), name(name) {}

  nanobind::handle get() {
    if (!found)
      found = nanobind::object(nanobind::module_::import_(module).attr(name)).release().ptr();
    return found;
  }
  template <typename... Arguments> nanobind::object operator()(Arguments &&...arguments) {
    return get()(std::forward<Arguments>(arguments)...);
  }

private:
  const char *module, *name;
  PyObject *found = nullptr;
};

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_IMPORTED_H

//===- Interrupts.h - Ctrl-C during calls -----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PYTHON_SRC_INTERRUPTS_H
#define POLYATTN_PYTHON_SRC_INTERRUPTS_H

#include "polyattn-c/polyattn.h"
#include <chrono>
#include <string>

namespace polyattn::python {

/// One call of the C API, during which Python's handlers of signals run; one that raises ends it.
/// They run on Python's main thread only: calls of others are left alone. A call that compiles says
/// so after a second, on any thread.
class Interrupts {
public:
  Interrupts();
  /// Of a call that compiles `what`.
  explicit Interrupts(std::string what);
  Interrupts(const Interrupts &) = delete;

  /// Sets a call's options. The call is made without the interpreter's lock.
  template <typename Options> void watch(Options &options) {
    if (!isMain && what.empty())
      return;
    options.is_cancelled = &Interrupts::isCancelled;
    options.cancelled_user = this;
  }

  /// With the interpreter's lock again: whether a handler has raised. The call has no result then,
  /// or one to be dropped.
  bool happened() const { return raised; }
  /// Throws what a handler has raised, if one has.
  void rethrow();

private:
  static int isCancelled(void *self);
  void tell(double seconds);
  void tellEnd();

  std::string what;
  bool isMain, raised = false;
  int told = 0; // seconds
  std::chrono::steady_clock::time_point begin;
};

} // namespace polyattn::python

#endif // POLYATTN_PYTHON_SRC_INTERRUPTS_H

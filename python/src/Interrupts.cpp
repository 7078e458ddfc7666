//===- Interrupts.cpp - Ctrl-C during calls -------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupts.h"
#include "Imported.h"
#include <pthread.h>

namespace nb = nanobind;
using namespace polyattn::python;

static Imported mainThread("threading", "main_thread");
static Imported tellProgress("polyattn._progress", "tell"),
    tellProgressEnd("polyattn._progress", "tell_end");

namespace {
enum class Main { Unknown, Yes, No };
} // namespace
static thread_local Main knownMain = Main::Unknown;

/// After a fork the child's only thread is its main thread.
static void forgetMain() { knownMain = Main::Unknown; }

/// Whether the calling thread is Python's main thread. Asking Python takes longer than a short
/// call.
static bool isMainThread() {
  static const int installed = pthread_atfork(nullptr, nullptr, forgetMain);
  (void)installed;
  if (knownMain == Main::Unknown) {
    auto main = nb::cast<unsigned long>(mainThread().attr("ident"));
    knownMain = main == PyThread_get_thread_ident() ? Main::Yes : Main::No;
  }
  return knownMain == Main::Yes;
}

Interrupts::Interrupts() : isMain(isMainThread()) {}

Interrupts::Interrupts(std::string what)
    : what(std::move(what)), isMain(isMainThread()), begin(std::chrono::steady_clock::now()) {}

int Interrupts::isCancelled(void *user) {
  auto &self = *static_cast<Interrupts *>(user);
  double seconds = 0;
  if (!self.what.empty())
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - self.begin).count();
  bool tells = seconds >= self.told + 1;
  if (!self.isMain && !tells)
    return 0;
  // What a handler has raised stays the thread's exception until the call is back.
  nb::gil_scoped_acquire acquire;
  if (self.isMain && PyErr_CheckSignals() != 0)
    self.raised = true;
  else if (tells)
    self.tell(seconds);
  return self.raised;
}

/// Handlers of signals may run in here, too.
void Interrupts::tell(double seconds) {
  try {
    tellProgress(what, seconds, told == 0);
    told = int(seconds);
  } catch (nb::python_error &error) {
    told = int(seconds);
    if (error.matches(PyExc_Exception)) {
      error.discard_as_unraisable("polyattn: telling that a compilation takes long");
      return;
    }
    error.restore();
    raised = true;
  }
}

void Interrupts::tellEnd() {
  if (told == 0)
    return;
  told = 0;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  tellProgressEnd(what, seconds);
}

void Interrupts::rethrow() {
  if (!raised)
    return tellEnd();
  nb::python_error error;
  tellEnd();
  throw error;
}

//===- Fiber.h - a thread of a CTA on a stack of its own --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_FIBER_H
#define POLYATTN_RUNTIME_EMULATOR_FIBER_H

#include <cstddef>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace polyattn::emulator {

/// Runs a function that can pause. A fiber that has paused may be started anew: its stack is
/// forgotten then, so nothing on it may own anything.
class Fiber {
public:
  /// Of the stack. Behind its end lies one page that nobody may touch.
  static constexpr size_t kStackBytes = 256 << 10;

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// `entry` begins at the next resume, and pauses instead of returning.
  void start(void (*entry)(void *), void *argument);
  /// Called by the host: runs the fiber until it pauses.
  void resume();
  /// Called on the fiber: back to the host.
  void pause();

private:
  static void enter();
  void switchTo(bool toFiber);

  char *stack = nullptr;
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
#if defined(__x86_64__)
  void *pointer = nullptr, *hostPointer = nullptr;
#else
  ucontext_t context, hostContext;
#endif
  // What AddressSanitizer must be told at each switch.
  [[maybe_unused]] void *shadowStack = nullptr, *hostShadowStack = nullptr;
  [[maybe_unused]] const void *hostStack = nullptr;
  [[maybe_unused]] size_t hostStackBytes = 0;
};

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_FIBER_H

//===- Abandoned.h - tasks and their threads --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TASKS_ABANDONED_H
#define POLYATTN_LIB_TASKS_ABANDONED_H

#include "polyattn/Tasks/Task.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <pthread.h>

namespace polyattn {

/// Work and where it stands. The caller's thread and the task's share it, and whoever waits for
/// abandoned ones.
class Task {
public:
  explicit Task(std::function<void()> work) : work(std::move(work)) {}

  // For the task's thread.
  void run();
  bool isCancelled();
  bool beginWriting();

  // For the caller's.
  void cancel();
  bool wasCancelled() const { return refused; }
  bool isWriting() const { return state == State::Writing; }
  /// Lets a task that runs on the caller's thread ask the caller.
  void askItself(const CancelledByCaller *caller) { asked = caller; }
  void rethrow();

  /// Returns whether the work has ended, after `time` at the latest.
  bool waitFor(std::chrono::steady_clock::duration time);

private:
  enum class State { Running, Cancelled, Writing };
  std::function<void()> work;
  std::atomic<State> state{State::Running};
  bool refused = false;
  const CancelledByCaller *asked = nullptr;
  std::chrono::steady_clock::time_point askAfter = {};
  std::mutex mutex;
  std::condition_variable ended;
  bool hasEnded = false;
  std::exception_ptr failure;
};

/// Keeps the thread of a cancelled task until it has ended.
void abandon(pthread_t thread, std::shared_ptr<Task> task);

/// Returns once few abandoned tasks are left, or false where the caller has cancelled the call.
bool waitForRoom(const CancelledByCaller &cancelled, std::chrono::steady_clock::duration askEvery);

} // namespace polyattn

#endif // POLYATTN_LIB_TASKS_ABANDONED_H

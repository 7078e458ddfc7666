//===- Task.cpp - work on a thread of its own -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Tasks/Task.h"
#include "Abandoned.h"
#include <utility>

using namespace polyattn;

char CancelledError::ID;

/// Ten times what 30,000 ops take where the recursion has the largest frames.
static constexpr size_t kStackBytes = size_t(512) << 20;
static constexpr std::chrono::milliseconds kAskEvery(50);

static thread_local Task *current = nullptr;

bool polyattn::isCancelled() { return current && current->isCancelled(); }
bool polyattn::beginWriting() { return !current || current->beginWriting(); }

bool Task::isCancelled() {
  // Where the system had no thread for it the task asks by itself.
  if (asked && !refused && std::chrono::steady_clock::now() >= askAfter) {
    if ((*asked)())
      cancel();
    askAfter = std::chrono::steady_clock::now() + kAskEvery;
  }
  return state.load(std::memory_order_relaxed) == State::Cancelled;
}

void Task::cancel() {
  refused = true;
  State running = State::Running;
  state.compare_exchange_strong(running, State::Cancelled);
}

bool Task::beginWriting() {
  State running = State::Running;
  return state.compare_exchange_strong(running, State::Writing) || running == State::Writing;
}

void Task::run() {
  Task *outer = std::exchange(current, this);
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  current = outer;
  std::lock_guard<std::mutex> lock(mutex);
  hasEnded = true;
  ended.notify_all();
}

bool Task::waitFor(std::chrono::steady_clock::duration time) {
  std::unique_lock<std::mutex> lock(mutex);
  return ended.wait_for(lock, time, [&] { return hasEnded; });
}

void Task::rethrow() {
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

static void *runShared(void *argument) {
  std::unique_ptr<std::shared_ptr<Task>> task(static_cast<std::shared_ptr<Task> *>(argument));
  (*task)->run();
  return nullptr;
}

/// The task's thread, or none without address space for its stack.
static std::optional<pthread_t> start(const std::shared_ptr<Task> &task) {
  pthread_attr_t attributes;
  pthread_t thread;
  auto argument = std::make_unique<std::shared_ptr<Task>>(task);
  pthread_attr_init(&attributes);
  bool started = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                 pthread_create(&thread, &attributes, runShared, argument.get()) == 0;
  pthread_attr_destroy(&attributes);
  if (!started)
    return std::nullopt;
  (void)argument.release();
  return thread;
}

/// Waits until the task has ended or, if it can be abandoned, its caller has cancelled it.
static bool follow(const std::shared_ptr<Task> &task, const CancelledByCaller &cancelled,
                   bool canBeAbandoned) {
  while (cancelled && !task->wasCancelled() && !task->waitFor(kAskEvery))
    if (cancelled())
      task->cancel();
  return !task->wasCancelled() || !canBeAbandoned || task->isWriting();
}

static bool runTask(std::function<void()> work, const CancelledByCaller &cancelled,
                    bool canBeAbandoned) {
  if (cancelled && (cancelled() || (canBeAbandoned && !waitForRoom(cancelled, kAskEvery))))
    return false;
  auto task = std::make_shared<Task>(std::move(work));
  std::optional<pthread_t> thread = start(task);
  if (!thread) {
    // The caller's stack has to do.
    task->askItself(cancelled ? &cancelled : nullptr);
    task->run();
  } else if (follow(task, cancelled, canBeAbandoned)) {
    pthread_join(*thread, nullptr);
  } else {
    abandon(*thread, task);
    return false;
  }
  task->rethrow();
  return !task->wasCancelled();
}

void polyattn::onLargeStack(llvm::function_ref<void()> work) {
  (void)runTask(work, {}, /*canBeAbandoned=*/false);
}

bool polyattn::untilCancelled(llvm::function_ref<void()> work, const CancelledByCaller &cancelled) {
  return runTask(work, cancelled, /*canBeAbandoned=*/false);
}

bool polyattn::orAbandoned(std::function<void()> work, const CancelledByCaller &cancelled) {
  return runTask(std::move(work), cancelled, /*canBeAbandoned=*/true);
}

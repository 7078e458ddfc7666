//===- Abandoned.cpp - tasks that nobody waits for ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Abandoned.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdlib>
#include <vector>

using namespace polyattn;

/// Threads that are on their way to an end take processors, and memory for what they compile.
static constexpr size_t kMostAbandoned = 4;
/// A pass that takes longer is a fault, which must not keep a process from ending.
static constexpr std::chrono::seconds kPatienceAtExit(10);

namespace {
struct Abandoned {
  pthread_t thread;
  std::shared_ptr<Task> task;
};

struct Registry {
  std::mutex mutex;
  std::vector<Abandoned> tasks;

  static Registry &get();
  /// Releases what has ended; called with the mutex held.
  void release();

private:
  Registry();
};
} // namespace

/// Tasks use this library's code and LLVM's globals, so they end before these do.
static void endAll() {
  auto deadline = std::chrono::steady_clock::now() + kPatienceAtExit;
  std::lock_guard<std::mutex> lock(Registry::get().mutex);
  for (Abandoned &one : Registry::get().tasks)
    (void)one.task->waitFor(deadline - std::chrono::steady_clock::now());
  Registry::get().release();
}

static void lockForFork() { Registry::get().mutex.lock(); }
static void unlockParent() { Registry::get().mutex.unlock(); }
/// The threads stayed in the parent, and with them what their stacks point to: nothing is
/// destroyed.
static void forgetInChild() {
  (void)new std::vector<Abandoned>(std::move(Registry::get().tasks));
  Registry::get().tasks = {};
  Registry::get().mutex.unlock();
}

Registry::Registry() {
  // Destructors of globals that are older run after it.
  (void)std::atexit(endAll);
  (void)pthread_atfork(lockForFork, unlockParent, forgetInChild);
}

Registry &Registry::get() {
  static auto &registry = *new Registry;
  return registry;
}

void Registry::release() {
  llvm::erase_if(tasks, [](const Abandoned &one) {
    if (!one.task->waitFor({}))
      return false;
    pthread_join(one.thread, nullptr);
    return true;
  });
}

void polyattn::abandon(pthread_t thread, std::shared_ptr<Task> task) {
  std::lock_guard<std::mutex> lock(Registry::get().mutex);
  Registry::get().release();
  Registry::get().tasks.push_back({thread, std::move(task)});
}

bool polyattn::waitForRoom(const CancelledByCaller &cancelled,
                           std::chrono::steady_clock::duration askEvery) {
  Registry &registry = Registry::get();
  while (true) {
    std::shared_ptr<Task> oldest;
    {
      std::lock_guard<std::mutex> lock(registry.mutex);
      registry.release();
      if (registry.tasks.size() < kMostAbandoned)
        return true;
      oldest = registry.tasks.front().task;
    }
    if (!oldest->waitFor(askEvery) && cancelled())
      return false;
  }
}

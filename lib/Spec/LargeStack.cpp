//===- LargeStack.cpp - room for programs that are deep -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Spec/LargeStack.h"
#include <exception>
#include <pthread.h>

using namespace polyattn;

/// Ten times what 30,000 ops take where the recursion has the largest frames.
static constexpr size_t kStackBytes = size_t(512) << 20;

namespace {
struct Task {
  llvm::function_ref<void()> work;
  std::exception_ptr failure;
};
} // namespace

static void *run(void *argument) {
  auto *task = static_cast<Task *>(argument);
  try {
    task->work();
  } catch (...) {
    task->failure = std::current_exception();
  }
  return nullptr;
}

void polyattn::onLargeStack(llvm::function_ref<void()> work) {
  Task task{work, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  bool started = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                 pthread_create(&thread, &attributes, run, &task) == 0;
  pthread_attr_destroy(&attributes);
  // Without address space for it the caller's stack has to do.
  if (!started)
    return work();
  pthread_join(thread, nullptr);
  if (task.failure)
    std::rethrow_exception(task.failure);
}

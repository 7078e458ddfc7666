//===- Task.h - work on a thread of its own ---------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilers and the oracle run on a thread of their own, which has a large stack. So the caller's
// thread is free to look whether it still wants the result.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TASKS_TASK_H
#define POLYATTN_TASKS_TASK_H

#include "polyattn/Tasks/Cancelled.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <functional>
#include <memory>
#include <optional>

namespace polyattn {

/// Whether a caller does not want a result any more. Called on the caller's thread, at once and
/// then every 50 ms, until it says yes. Empty where a caller always waits.
using CancelledByCaller = std::function<bool()>;

/// Runs `work` to its end on a thread whose stack holds any recursion over a spec of SpecLimits: a
/// program may be a chain of as many ops, and a caller's own stack as small as it likes. What
/// `work` throws is thrown here. Pages of the stack that are not touched take no memory.
void onLargeStack(llvm::function_ref<void()> work);

/// The same for work that looks at isCancelled() often enough for its caller to wait for its end.
/// Returns false where the caller has cancelled it.
bool untilCancelled(llvm::function_ref<void()> work, const CancelledByCaller &cancelled);

/// The same for work that has long stretches, as LLVM's passes are. Once it is cancelled this
/// returns false within 50 ms; the work, which owns all that it uses, goes on to the next place
/// where it looks at isCancelled(). The process's end waits for that, a few seconds at most; and so
/// does the next such call, which can be cancelled meanwhile, where several are still on their way.
bool orAbandoned(std::function<void()> work, const CancelledByCaller &cancelled);

/// What `make` gives, by orAbandoned.
template <typename T>
llvm::Expected<T> makeOrAbandon(std::function<llvm::Expected<T>()> make,
                                const CancelledByCaller &cancelled) {
  struct Result {
    std::optional<llvm::Expected<T>> value;
    ~Result() {
      if (value && !*value)
        llvm::consumeError(value->takeError());
    }
  };
  auto result = std::make_shared<Result>();
  if (!orAbandoned([result, make = std::move(make)] { result->value.emplace(make()); }, cancelled))
    return llvm::make_error<CancelledError>();
  return std::move(*result->value);
}

} // namespace polyattn

#endif // POLYATTN_TASKS_TASK_H

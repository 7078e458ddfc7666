//===- Cancelled.h - work that nobody waits for any more --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TASKS_CANCELLED_H
#define POLYATTN_TASKS_CANCELLED_H

#include "llvm/Support/Error.h"

namespace polyattn {

/// Whether the work of the calling thread, a task's (polyattn/Tasks/Task.h), has been cancelled.
/// Whatever may take longer than some 10 ms asks now and then, and then ends with any result:
/// nobody reads it. False on threads that are not a task's. It takes a few nanoseconds.
bool isCancelled();

/// Called before a task writes what outlives it. From here on it cannot be cancelled. Returns false
/// where it has been: then nothing may be written.
bool beginWriting();

/// What cancelled work ends with.
class CancelledError : public llvm::ErrorInfo<CancelledError> {
public:
  static char ID;
  void log(llvm::raw_ostream &stream) const override { stream << "the call has been cancelled"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

} // namespace polyattn

#endif // POLYATTN_TASKS_CANCELLED_H

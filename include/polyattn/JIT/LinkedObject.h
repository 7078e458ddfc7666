//===- LinkedObject.h - an object file in this process ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_LINKEDOBJECT_H
#define POLYATTN_JIT_LINKEDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace polyattn {

/// A relocatable object of this machine, linked into the process for as long as this lives.
class LinkedObject {
public:
  /// A function that the object may call, by its name.
  using External = std::pair<const char *, void *>;

  /// Beside `externals` the object may call the C library, libm and what the process exports.
  static llvm::Expected<std::unique_ptr<LinkedObject>>
  link(std::unique_ptr<llvm::MemoryBuffer> object, llvm::ArrayRef<External> externals = {});
  ~LinkedObject();

  /// The address of a function or variable of the object; an error where it has none of that name.
  llvm::Expected<void *> lookup(llvm::StringRef name);

private:
  struct Session;
  explicit LinkedObject(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session;
};

} // namespace polyattn

#endif // POLYATTN_JIT_LINKEDOBJECT_H

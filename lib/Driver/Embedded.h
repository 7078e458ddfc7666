//===- Embedded.h - files that the compiler carries within itself -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_EMBEDDED_H
#define POLYATTN_LIB_DRIVER_EMBEDDED_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace polyattn {

/// The runtime as a static archive for this machine's architecture.
llvm::StringRef embeddedRuntime();
/// A file of the runtime's sources, by its path in a folder of their own.
struct EmbeddedFile {
  llvm::StringLiteral path;
  const char *begin, *end;
  llvm::StringRef text() const { return {begin, size_t(end - begin)}; }
};
/// The sources of the runtime and the headers that they include, for C compilers of other
/// architectures.
llvm::ArrayRef<EmbeddedFile> embeddedRuntimeSources();
/// The text of polyattn-c/tensor.h and polyattn-c/parallel.h.
llvm::StringRef embeddedHeaders();

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_EMBEDDED_H

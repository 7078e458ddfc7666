//===- Embedded.h - files that the compiler carries within itself -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_EMBEDDED_H
#define POLYATTN_LIB_DRIVER_EMBEDDED_H

#include "llvm/ADT/StringRef.h"

namespace polyattn {

/// The runtime as a static archive for this machine's architecture.
llvm::StringRef embeddedRuntime();
/// The text of polyattn-c/tensor.h and polyattn-c/parallel.h.
llvm::StringRef embeddedHeaders();

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_EMBEDDED_H

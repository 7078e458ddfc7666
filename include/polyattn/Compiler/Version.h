//===- Version.h - what --version prints ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_COMPILER_VERSION_H
#define POLYATTN_COMPILER_VERSION_H

#include "llvm/Support/raw_ostream.h"
#include <string>

namespace polyattn {

/// "polyattn 0.2.0 (LLVM 22.1.0)", in every artifact.
std::string version();
/// Prints the version and a newline.
void printVersion(llvm::raw_ostream &stream);

} // namespace polyattn

#endif // POLYATTN_COMPILER_VERSION_H

//===- Version.cpp - what --version prints --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/Version.h"
#include "llvm/Config/llvm-config.h"

std::string polyattn::version() {
  return "polyattn " POLYATTN_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

void polyattn::printVersion(llvm::raw_ostream &stream) { stream << version() << '\n'; }

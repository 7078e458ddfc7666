//===- CompileMain.h - polyattn-compile as a library ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DRIVER_COMPILEMAIN_H
#define POLYATTN_DRIVER_COMPILEMAIN_H

#include "polyattn/Compiler/Compile.h"

namespace polyattn {

/// Writes `directory`/lib`stem`.so, `stem`.h and `stem`.json for a module in the LLVM dialect:
/// all three or, upon an error, none.
llvm::Error emitSharedLibrary(LoweredModule &module, const CompileOptions &options,
                              llvm::StringRef directory, llvm::StringRef stem);

/// The whole of polyattn-compile; returns the exit status.
int compileMain(int argc, char **argv);

} // namespace polyattn

#endif // POLYATTN_DRIVER_COMPILEMAIN_H

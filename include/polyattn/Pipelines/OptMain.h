//===- OptMain.h - polyattn-opt as a library --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PIPELINES_OPTMAIN_H
#define POLYATTN_PIPELINES_OPTMAIN_H

namespace polyattn {

/// MLIR's optimizer driver with the project's dialects and passes, and with options for attentions
/// in the short form. Returns the program's exit status.
int optMain(int argc, char **argv);

} // namespace polyattn

#endif // POLYATTN_PIPELINES_OPTMAIN_H

//===- Explain.h - what was decided, for people -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DRIVER_EXPLAIN_H
#define POLYATTN_DRIVER_EXPLAIN_H

#include "polyattn/Compiler/CompileGPU.h"

namespace polyattn {

/// For --explain: the machine, the schedule of every attend with the costs behind it, and the
/// stages of `module`, which has been lowered. `text` is its spec.
llvm::Error explain(llvm::raw_ostream &stream, const LoweredModule &module, llvm::StringRef text,
                    llvm::StringRef fileName, const CompileOptions &options);

/// Explains kernels for a GPU: also the launch of each, and in which memory its values lie. `spec`
/// is the module as parsed, and lowered to its schedules here.
llvm::Error explainForGPU(llvm::raw_ostream &stream, const LoweredModule &module,
                          LoweredModule &spec, const GPUDescription &gpu);

/// What a launcher finds for each call.
void explainChoices(llvm::raw_ostream &stream, const LaunchPlan &plan);

/// An entry and its schedules; `scheduled` is the module at the Schedule phase.
void explainEntry(llvm::raw_ostream &stream, const KernelDescription &kernel,
                  const LoweredModule &scheduled);

} // namespace polyattn

#endif // POLYATTN_DRIVER_EXPLAIN_H

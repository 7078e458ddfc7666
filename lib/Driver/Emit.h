//===- Emit.h - what polyattn-compile writes --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_EMIT_H
#define POLYATTN_LIB_DRIVER_EMIT_H

#include "polyattn/Compiler/CompileGPU.h"

namespace polyattn {

/// The kinds of --emit.
enum class Emit {
  Tile,
  LLVM,
  // Processors:
  Assembly,
  Object,
  Library,
  // GPUs:
  Warp,
  PTX,
  Cubin,
  JSON,
  Kernels
};

/// The kind of a name, or the target's default where it is empty. What the target does not have is
/// an error that says what it has.
llvm::Expected<Emit> parseEmit(llvm::StringRef name, llvm::StringRef target, bool isGPU);

/// Writes what was asked for from a module at the Tile or the Warp phase; `ptxas` is the assembler
/// if not empty.
llvm::Error emitForGPU(LoweredModule &module, const GPUDescription &gpu, Emit emit,
                       llvm::StringRef output, llvm::StringRef ptxas);

/// The entry of the spec that a kernel computes, null where the module is not from a spec: their
/// names are equal up to what the stages of an entry append.
const KernelDescription *entryOf(const LoweredModule &module, llvm::StringRef kernel);

/// The JSON beside a kernel: what Triton's cache has, and under "polyattn" what the parameters
/// mean. `entry` is null and `code` empty where they are not known.
llvm::json::Value describeKernelFile(const LaunchDescription &launch, const LaunchPlan &plan,
                                     const GPUDescription &gpu, const KernelDescription *entry,
                                     llvm::StringRef code);

} // namespace polyattn

#endif // POLYATTN_LIB_DRIVER_EMIT_H

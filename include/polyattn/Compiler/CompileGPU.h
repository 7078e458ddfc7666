//===- CompileGPU.h - from a spec's text to a GPU's code --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_COMPILER_COMPILEGPU_H
#define POLYATTN_COMPILER_COMPILEGPU_H

#include "polyattn/Compiler/Compile.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/Target/Launch.h"

namespace polyattn {

/// Parses a spec, or a file of kernels in the warp dialect, for which there are no descriptions of
/// entries. Keeps the entry, or kernel, that was asked for.
llvm::Expected<LoweredModule> parseForGPU(llvm::StringRef text, llvm::StringRef fileName,
                                          const SpecOptions &options);

/// Runs the GPU pipeline up to Schedule, Tile or Warp. Kernels in the warp dialect stay as they
/// are.
llvm::Error lowerForGPU(LoweredModule &module, const GPUDescription &gpu,
                        GPUPipelinePhase stopAfter);

/// The launches of the kernels in a module at the Warp phase, in order. What the GPU cannot launch
/// is an error.
llvm::Expected<std::vector<LaunchDescription>> describeLaunches(LoweredModule &module,
                                                                const GPUDescription &gpu);

/// LLVM IR and PTX of one kernel of a module at the Warp phase, or of all where `kernel` is empty.
/// The module stays as it is.
llvm::Expected<std::string> emitKernelLLVM(LoweredModule &module, llvm::StringRef kernel,
                                           const GPUDescription &gpu);
llvm::Expected<std::string> emitKernelPTX(LoweredModule &module, llvm::StringRef kernel,
                                          const GPUDescription &gpu);

} // namespace polyattn

#endif // POLYATTN_COMPILER_COMPILEGPU_H

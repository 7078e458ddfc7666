//===- NVPTX.h - machine code for NVIDIA GPUs -------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_NVPTX_H
#define POLYATTN_TARGET_NVPTX_H

#include "polyattn/Target/GPUDescription.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace polyattn {

/// The GPU of a name, one of `listGPUs`; any other name is an error that lists these.
llvm::Expected<GPUDescription> findGPU(llvm::StringRef name);

/// The newest GPU with a name whose code runs on a device of this compute capability; an error if
/// it is older than all. A consumer's chip has less shared memory than the server's of its number.
llvm::Expected<GPUDescription> findNearestGPU(int major, int minor);

/// "sm_80, sm_86, ...".
std::string listGPUs();

/// Whether a name is meant to be a GPU's; findGPU may still not know it.
bool isGPUName(llvm::StringRef name);

/// LLVM IR of a gpu.module in the LLVM and NVVM dialects, with the machine that it is for.
struct GPUCode {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
llvm::Expected<GPUCode> translateToLLVMIR(mlir::gpu::GPUModuleOp kernels,
                                          llvm::LLVMContext &context, const GPUDescription &gpu);

/// Optimizes and writes PTX; the module is consumed. Needs neither CUDA nor a GPU.
llvm::Expected<std::string> generatePTX(GPUCode code);

/// What ptxas says of one kernel. Bytes are those of one thread.
struct KernelResources {
  std::string function;
  int64_t registers = 0, stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
  /// Static shared memory of a CTA, without the dynamic shared memory that a launch asks for.
  int64_t staticSharedBytes = 0;
};

struct Cubin {
  std::string bytes;
  std::vector<KernelResources> kernels;
  /// Its warnings, among them those that it calls information: "(C7510) Potential Performance
  /// Loss: ...".
  std::vector<std::string> warnings;
};

/// The assembler: `configured` where that is a path, else CUDA_HOME/bin/ptxas where that variable
/// is set, else ptxas in PATH or in /usr/local/cuda/bin. An error names these paths.
llvm::Expected<std::string> findPtxas(llvm::StringRef configured = "");

/// Machine code for `gpu` and no other. An error has what ptxas said.
llvm::Expected<Cubin> assemblePTX(llvm::StringRef ptx, const GPUDescription &gpu,
                                  llvm::StringRef ptxas);

/// What `ptxas -v` wrote, without the machine code.
Cubin parsePtxasOutput(llvm::StringRef text);

} // namespace polyattn

#endif // POLYATTN_TARGET_NVPTX_H

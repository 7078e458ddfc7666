//===- Kernel.h - compiled kernels of the C API -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CAPI_KERNEL_H
#define POLYATTN_LIB_CAPI_KERNEL_H

#include "Support.h"
#include "polyattn/CUDA/GPUKernel.h"

struct polyattn_kernel {
  explicit polyattn_kernel(std::unique_ptr<polyattn::CompiledKernel> code);
  explicit polyattn_kernel(std::unique_ptr<polyattn::GPUKernel> onGPU);

  const polyattn::KernelDescription &description() const;

  // One of these.
  std::unique_ptr<polyattn::CompiledKernel> code;
  std::unique_ptr<polyattn::GPUKernel> onGPU;
  std::string json;
};

namespace polyattn::capi {

/// Whether the target of the options is a GPU of this machine: "cuda", or "cuda:1".
bool isForGPU(const JITOptions &options);

/// That GPU, found by the driver `driverLibrary`.
llvm::Expected<std::shared_ptr<CUDADevice>> openGPU(const JITOptions &options);

/// Compiles one entry for that GPU.
llvm::Expected<std::unique_ptr<GPUKernel>> compileForGPU(llvm::StringRef text, llvm::StringRef name,
                                                         const JITOptions &options);

/// The driver's library; libcuda.so.1 where it is empty. Tests have another one.
extern std::string driverLibrary;

} // namespace polyattn::capi

#endif // POLYATTN_LIB_CAPI_KERNEL_H

//===- GPU.cpp - kernels on GPUs, for programs in C -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "polyattn/Tasks/Task.h"

using namespace polyattn;
using llvm::Expected;
using llvm::StringRef;

std::string capi::driverLibrary;

/// What follows "cuda" in the name of a GPU of this machine, nothing or ":1"; none for others.
static std::optional<StringRef> afterCUDA(StringRef target) {
  if (!target.consume_front("cuda") || !(target.empty() || target.starts_with(":")))
    return std::nullopt;
  return target;
}

bool capi::isForGPU(const JITOptions &options) { return afterCUDA(options.target).has_value(); }

/// The device of "cuda:1"; negative for "cuda", the calling thread's or the first.
static Expected<int> ordinalOf(StringRef target) {
  StringRef number = afterCUDA(target).value_or("");
  int ordinal = -1;
  if (number.empty())
    return ordinal;
  if (number.drop_front().getAsInteger(10, ordinal) || ordinal < 0)
    return llvm::createStringError("target: expected cuda, or cuda: and a device's number, got '" +
                                   target + "'");
  return ordinal;
}

Expected<std::shared_ptr<CUDADevice>> capi::openGPU(const JITOptions &options) {
  Expected<int> ordinal = ordinalOf(options.target);
  if (!ordinal)
    return ordinal.takeError();
  return CUDADevice::open(*ordinal, driverLibrary);
}

Expected<std::unique_ptr<GPUKernel>> capi::compileForGPU(StringRef text, StringRef name,
                                                         const JITOptions &options) {
  auto device = openGPU(options);
  if (!device)
    return device.takeError();
  return makeOrAbandon<std::unique_ptr<GPUKernel>>(
      [spec = text.str(), name = name.str(), what = specOptionsOf(options), device = *device] {
        return GPUKernel::compile(spec, name, what, device);
      },
      options.cancelled);
}

int polyattn_kernel_device(const polyattn_kernel *kernel) {
  return kernel && kernel->onGPU ? kernel->onGPU->getDevice().get().device : -1;
}

/// Runs `body` on the tensors of a kernel that is on a GPU. Returns 0, or 1 with an error.
static int onGPU(const polyattn_kernel *kernel, const polyattn_tensor *tensors, size_t num_tensors,
                 polyattn_error **error,
                 llvm::function_ref<llvm::Error(llvm::ArrayRef<polyattn_tensor>)> body) {
  return capi::statusOf(error, [&]() -> llvm::Error {
    if (!kernel || (!tensors && num_tensors != 0))
      return llvm::createStringError(!kernel ? "kernel is null" : "tensors is null");
    if (!kernel->onGPU)
      return llvm::createStringError(kernel->description().entry +
                                     ": is not on a GPU; call polyattn_kernel_run");
    return body({tensors, num_tensors});
  });
}

int polyattn_kernel_workspace(const polyattn_kernel *kernel, const polyattn_tensor *tensors,
                              size_t num_tensors, int64_t *bytes, polyattn_error **error) {
  return onGPU(kernel, tensors, num_tensors, error, [&](auto given) -> llvm::Error {
    if (!bytes)
      return llvm::createStringError("bytes is null");
    Expected<int64_t> needed = kernel->onGPU->workspaceBytes(given);
    if (!needed)
      return needed.takeError();
    *bytes = *needed;
    return llvm::Error::success();
  });
}

int polyattn_kernel_launch(const polyattn_kernel *kernel, const polyattn_tensor *tensors,
                           size_t num_tensors, void *workspace, int64_t workspace_bytes,
                           void *stream, polyattn_error **error) {
  return onGPU(kernel, tensors, num_tensors, error, [&](auto given) {
    return kernel->onGPU->launch(given, workspace, workspace_bytes,
                                 static_cast<polyattn_cu_stream>(stream));
  });
}

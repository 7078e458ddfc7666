//===- GPUKernel.cpp - kernels on an NVIDIA GPU ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/CUDA/GPUKernel.h"
#include "Errors.h"
#include "polyattn/Driver/CompileGPU.h"

using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

polyattn_cuda_parameter ruleOf(const LaunchParameter &parameter) {
  int32_t kind = POLYATTN_CUDA_PROFILE;
  switch (parameter.kind) {
  case LaunchParameter::Pointer:
    kind = POLYATTN_CUDA_POINTER;
    break;
  case LaunchParameter::Size:
    kind = POLYATTN_CUDA_SIZE;
    break;
  case LaunchParameter::Stride:
    kind = POLYATTN_CUDA_STRIDE;
    break;
  case LaunchParameter::Workspace:
    kind = POLYATTN_CUDA_WORKSPACE;
    break;
  case LaunchParameter::Profile:
    break;
  }
  return {kind, int32_t(parameter.tensor), int32_t(parameter.dimension)};
}

/// The runtime's form of a launch.
class LaunchRule {
public:
  explicit LaunchRule(LaunchDescription description) : launch(std::move(description)) {
    for (const LaunchParameter &parameter : launch.parameters)
      parameters.push_back(ruleOf(parameter));
    for (SizeReference size : launch.programs)
      programs.push_back({POLYATTN_CUDA_SIZE, int32_t(size.tensor), int32_t(size.dimension)});
    rule = {launch.function.c_str(), launch.threads,          launch.sharedBytes,
            launch.workspaceBytes,   parameters.data(),       int64_t(parameters.size()),
            programs.data(),         int64_t(programs.size())};
  }
  LaunchRule(const LaunchRule &) = delete;
  const polyattn_cuda_launch_rule &get() const { return rule; }

private:
  LaunchDescription launch;
  std::vector<polyattn_cuda_parameter> parameters, programs;
  polyattn_cuda_launch_rule rule;
};

llvm::SmallVector<const polyattn_tensor *> pointersTo(llvm::ArrayRef<polyattn_tensor> tensors) {
  llvm::SmallVector<const polyattn_tensor *> pointers;
  for (const polyattn_tensor &tensor : tensors)
    pointers.push_back(&tensor);
  return pointers;
}

} // namespace

struct GPUKernel::Code {
  Code(std::shared_ptr<CUDADevice> device, KernelDescription entry, LaunchDescription launch)
      : device(std::move(device)), description(std::move(entry)), rule(std::move(launch)) {
    // The stages are a processor's; here they only have to be there.
    std::vector<polyattn_rt_function> none(description.stages.size(), nullptr);
    tensorRules.emplace(description, none);
  }
  // A failure to unload is one of an earlier launch, which has been reported.
  ~Code() { polyattn_cuda_unload(&kernel, nullptr, 0); }

  std::shared_ptr<CUDADevice> device;
  KernelDescription description;
  std::optional<RuntimeKernel> tensorRules;
  LaunchRule rule;
  polyattn_cuda_kernel kernel = {};
};

GPUKernel::GPUKernel(std::unique_ptr<Code> code) : code(std::move(code)) {}
GPUKernel::~GPUKernel() = default;

const KernelDescription &GPUKernel::getDescription() const { return code->description; }
const polyattn_cuda_launch_rule &GPUKernel::getLaunch() const { return code->rule.get(); }

Expected<std::unique_ptr<GPUKernel>>
GPUKernel::compile(llvm::StringRef text, llvm::StringRef fileName, llvm::StringRef entry,
                   llvm::StringRef storage, std::shared_ptr<CUDADevice> device) {
  const GPUDescription &gpu = device->getDescription();
  Expected<LoweredModule> module = parseForGPU(text, fileName, entry, storage);
  if (!module)
    return module.takeError();
  if (module->kernels.size() != 1)
    return llvm::createStringError(fileName + ": expected the name of one of its entries");
  if (Error error = lowerForGPU(*module, gpu, GPUPipelinePhase::Warp))
    return std::move(error);
  Expected<std::vector<LaunchDescription>> launches = describeLaunches(*module, gpu);
  if (!launches)
    return launches.takeError();
  if (launches->size() != 1)
    return llvm::createStringError("@" + module->kernels.front().entry +
                                   ": an entry of several kernels cannot be launched yet");
  Expected<std::string> ptx = emitKernelPTX(*module, "", gpu);
  if (!ptx)
    return ptx.takeError();
  auto code = std::make_unique<Code>(std::move(device), std::move(module->kernels.front()),
                                     std::move(launches->front()));
  CUDAError error;
  if (polyattn_cuda_load(&code->device->get(), &code->rule.get(), ptx->c_str(), &code->kernel,
                         error.text, sizeof error.text) != 0)
    return error.take();
  return std::unique_ptr<GPUKernel>(new GPUKernel(std::move(code)));
}

Expected<int64_t> GPUKernel::workspaceBytes(llvm::ArrayRef<polyattn_tensor> tensors) const {
  CUDAError error;
  int64_t bytes = 0;
  if (polyattn_cuda_workspace(&code->rule.get(), pointersTo(tensors).data(), tensors.size(), &bytes,
                              error.text, sizeof error.text) != 0)
    return error.take();
  return bytes;
}

Error GPUKernel::launch(llvm::ArrayRef<polyattn_tensor> tensors, void *workspace,
                        int64_t workspaceBytes, polyattn_cu_stream stream) const {
  CUDAError error;
  polyattn_rt_sizes sizes;
  auto pointers = pointersTo(tensors);
  if (polyattn_rt_check(&code->tensorRules->get(), pointers.data(), pointers.size(), &sizes,
                        error.text, sizeof error.text) != 0 ||
      polyattn_cuda_launch(&code->kernel, pointers.data(), pointers.size(), workspace,
                           workspaceBytes, stream, error.text, sizeof error.text) != 0)
    return error.take();
  return Error::success();
}

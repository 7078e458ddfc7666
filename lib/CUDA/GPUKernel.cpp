//===- GPUKernel.cpp - kernels on an NVIDIA GPU ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/CUDA/GPUKernel.h"
#include "Errors.h"
#include "polyattn/Compiler/CompileGPU.h"
#include <algorithm>

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

polyattn_cuda_parameter ruleOf(const LaunchSize &size) {
  switch (size.kind) {
  case LaunchSize::Size:
    return {POLYATTN_CUDA_SIZE, int32_t(size.reference.tensor), int32_t(size.reference.dimension)};
  case LaunchSize::Segments:
    return {POLYATTN_CUDA_SEGMENTS, 0, int32_t(size.number)};
  case LaunchSize::Constant:
    break;
  }
  return {POLYATTN_CUDA_NUMBER, 0, int32_t(size.number)};
}

/// The runtime's form of a launch.
class LaunchRule {
public:
  LaunchRule(LaunchDescription description, const polyattn_cuda_launch_rule *before)
      : launch(std::move(description)) {
    for (const LaunchParameter &parameter : launch.parameters)
      parameters.push_back(ruleOf(parameter));
    for (const LaunchSize &size : launch.programs)
      ctas.push_back(ruleOf(size));
    if (launch.cluster > 1) // which the kernel's code asks for itself
      ctas.push_back({POLYATTN_CUDA_NUMBER, 0, int32_t(launch.cluster)});
    for (const HiddenTensor &tensor : launch.hidden) {
      std::vector<polyattn_cuda_parameter> &sizes = hiddenSizes.emplace_back();
      for (const LaunchSize &size : tensor.sizes)
        sizes.push_back(ruleOf(size));
    }
    for (const auto &sizes : hiddenSizes)
      hidden.push_back({sizes.data(), int64_t(sizes.size())});
    rule = {launch.function.c_str(),
            launch.threads,
            launch.sharedBytes,
            launch.workspaceBytes,
            parameters.data(),
            int64_t(parameters.size()),
            ctas.data(),
            int64_t(ctas.size()),
            hidden.data(),
            int64_t(hidden.size()),
            before};
  }
  LaunchRule(const LaunchRule &) = delete;
  const polyattn_cuda_launch_rule &get() const { return rule; }
  const LaunchDescription &getDescription() const { return launch; }

private:
  LaunchDescription launch;
  std::vector<polyattn_cuda_parameter> parameters, ctas;
  std::vector<std::vector<polyattn_cuda_parameter>> hiddenSizes;
  std::vector<polyattn_cuda_hidden_tensor> hidden;
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
  /// `launches` has the entry's kernel, and the one before it where there are segments.
  Code(std::shared_ptr<CUDADevice> device, KernelDescription entry,
       std::vector<LaunchDescription> launches)
      : device(std::move(device)), description(std::move(entry)) {
    if (launches.size() > 1)
      before.emplace(std::move(launches[1]), nullptr);
    rule.emplace(std::move(launches[0]), before ? &before->get() : nullptr);
    // The stages are a processor's; here they only have to be there.
    std::vector<polyattn_rt_function> none(description.stages.size(), nullptr);
    tensorRules.emplace(description, none);
  }
  // A failure to unload is one of an earlier launch, which has been reported.
  ~Code() { polyattn_cuda_unload(&kernel, nullptr, 0); }

  std::shared_ptr<CUDADevice> device;
  KernelDescription description;
  std::optional<RuntimeKernel> tensorRules;
  std::optional<LaunchRule> before, rule;
  polyattn_cuda_kernel kernel = {};
};

GPUKernel::GPUKernel(std::unique_ptr<Code> code) : code(std::move(code)) {}
GPUKernel::~GPUKernel() = default;

const KernelDescription &GPUKernel::getDescription() const { return code->description; }
const polyattn_cuda_launch_rule &GPUKernel::getLaunch() const { return code->rule->get(); }

/// The entry's own kernel first, then the one that its segments need, and nothing else.
static Error orderLaunches(std::vector<LaunchDescription> &launches) {
  std::stable_partition(launches.begin(), launches.end(),
                        [](const LaunchDescription &launch) { return bool(launch.segments); });
  const LaunchDescription &main = launches.front();
  size_t expected = main.segments ? 2 : 1;
  if (launches.size() == expected &&
      (expected == 1 || launches[1].function == main.segments->states))
    return Error::success();
  return llvm::createStringError("@" + main.function +
                                 ": the entry has kernels that cannot be launched");
}

Expected<std::unique_ptr<GPUKernel>>
GPUKernel::compile(llvm::StringRef text, llvm::StringRef fileName, llvm::StringRef entry,
                   llvm::StringRef storage, std::shared_ptr<CUDADevice> device, bool invariant) {
  const GPUDescription &gpu = device->getDescription();
  Expected<LoweredModule> module = parseForGPU(text, fileName, entry, storage, invariant);
  if (!module)
    return module.takeError();
  if (module->kernels.size() != 1)
    return llvm::createStringError(fileName + ": expected the name of one of its entries");
  if (Error error = lowerForGPU(*module, gpu, GPUPipelinePhase::Warp))
    return std::move(error);
  Expected<std::vector<LaunchDescription>> launches = describeLaunches(*module, gpu);
  if (!launches)
    return launches.takeError();
  if (Error error = orderLaunches(*launches))
    return std::move(error);
  Expected<std::string> ptx = emitKernelPTX(*module, "", gpu);
  if (!ptx)
    return ptx.takeError();
  auto code = std::make_unique<Code>(std::move(device), std::move(module->kernels.front()),
                                     std::move(*launches));
  CUDAError error;
  if (polyattn_cuda_load(&code->device->get(), &code->rule->get(), ptx->c_str(), &code->kernel,
                         error.text, sizeof error.text) != 0)
    return error.take();
  return std::unique_ptr<GPUKernel>(new GPUKernel(std::move(code)));
}

// Tensors that lack what the choice asks for are no reason to choose, and refused by what follows.
int64_t GPUKernel::chooseSegments(llvm::ArrayRef<polyattn_tensor> tensors) const {
  const LaunchDescription &launch = code->rule->getDescription();
  llvm::SmallVector<SizeReference> asked;
  for (const LaunchSize &size : launch.programs)
    if (size.kind == LaunchSize::Size)
      asked.push_back(size.reference);
  if (launch.segments)
    asked.append({launch.segments->positions, launch.segments->stateHeads});
  for (SizeReference size : asked)
    if (size.tensor >= int64_t(tensors.size()) || size.dimension >= tensors[size.tensor].rank)
      return 1;
  std::vector<LaunchTensor> views;
  for (const polyattn_tensor &tensor : tensors)
    views.push_back({tensor.data, llvm::ArrayRef(tensor.sizes, tensor.rank),
                     llvm::ArrayRef(tensor.strides, tensor.rank)});
  return polyattn::chooseSegments(launch, views, code->device->getDescription().multiprocessors);
}

Expected<int64_t> GPUKernel::workspaceBytes(llvm::ArrayRef<polyattn_tensor> tensors,
                                            int64_t segments) const {
  CUDAError error;
  int64_t bytes = 0;
  if (polyattn_cuda_workspace(&code->rule->get(), pointersTo(tensors).data(), tensors.size(),
                              segments ? segments : chooseSegments(tensors), &bytes, error.text,
                              sizeof error.text) != 0)
    return error.take();
  return bytes;
}

Error GPUKernel::launch(llvm::ArrayRef<polyattn_tensor> tensors, void *workspace,
                        int64_t workspaceBytes, polyattn_cu_stream stream, int64_t segments) const {
  CUDAError error;
  polyattn_rt_sizes sizes;
  auto pointers = pointersTo(tensors);
  if (polyattn_rt_check(&code->tensorRules->get(), pointers.data(), pointers.size(), &sizes,
                        error.text, sizeof error.text) != 0 ||
      polyattn_rt_check_rows(&code->tensorRules->get(), pointers.data(), error.text,
                             sizeof error.text) != 0 ||
      polyattn_cuda_launch(&code->kernel, pointers.data(), pointers.size(),
                           segments ? segments : chooseSegments(tensors), workspace, workspaceBytes,
                           stream, error.text, sizeof error.text) != 0)
    return error.take();
  return Error::success();
}

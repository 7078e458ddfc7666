//===- GPUKernel.cpp - kernels on an NVIDIA GPU ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/CUDA/GPUKernel.h"
#include "Errors.h"
#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/Launch/LaunchCall.h"
#include <algorithm>

using namespace polyattn;
using llvm::Error;
using llvm::Expected;

static_assert(kMaxLaunchParameters == POLYATTN_CUDA_MAX_PARAMETERS,
              "what the compiler accepts is what the runtime launches");

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

/// The runtime's form of an entry.
class EntryRule {
public:
  EntryRule(std::string name, LaunchPlan from, llvm::ArrayRef<LaunchDescription> launches)
      : name(std::move(name)), plan(std::move(from)), tables(plan),
        descriptions(launches.begin(), launches.end()) {
    for (const LaunchDescription &launch : descriptions) {
      std::vector<polyattn_cuda_parameter> &own = parameters.emplace_back();
      for (const LaunchParameter &parameter : launch.parameters)
        own.push_back(ruleOf(parameter));
    }
    for (auto [launch, own] : llvm::zip_equal(descriptions, parameters))
      rules.push_back({launch.function.c_str(), launch.threads, launch.sharedBytes, own.data(),
                       int64_t(own.size())});
    rule = {this->name.c_str(), &tables.get(), rules.data()};
  }
  EntryRule(const EntryRule &) = delete;
  const polyattn_cuda_entry_rule &get() const { return rule; }
  const LaunchPlan &getPlan() const { return plan; }

private:
  std::string name;
  LaunchPlan plan;
  RuntimePlan tables;
  std::vector<LaunchDescription> descriptions;
  std::vector<std::vector<polyattn_cuda_parameter>> parameters;
  std::vector<polyattn_cuda_launch_rule> rules;
  polyattn_cuda_entry_rule rule;
};

llvm::SmallVector<const polyattn_tensor *> pointersTo(llvm::ArrayRef<polyattn_tensor> tensors) {
  llvm::SmallVector<const polyattn_tensor *> pointers;
  for (const polyattn_tensor &tensor : tensors)
    pointers.push_back(&tensor);
  return pointers;
}

} // namespace

struct GPUKernel::Code {
  /// `launches` are those of the plan's stages.
  Code(std::shared_ptr<CUDADevice> device, KernelDescription entry,
       llvm::ArrayRef<LaunchDescription> launches)
      : device(std::move(device)), description(std::move(entry)), tensorRules(description, {}),
        rule(description.entry, description.plan, launches) {}
  // A failure to unload is one of an earlier launch, which has been reported.
  ~Code() { polyattn_cuda_unload(&kernel, nullptr, 0); }

  std::shared_ptr<CUDADevice> device;
  KernelDescription description;
  RuntimeKernel tensorRules;
  EntryRule rule;
  polyattn_cuda_kernel kernel = {};
};

GPUKernel::GPUKernel(std::unique_ptr<Code> code) : code(std::move(code)) {}
GPUKernel::~GPUKernel() = default;

const KernelDescription &GPUKernel::getDescription() const { return code->description; }
const polyattn_cuda_entry_rule &GPUKernel::getRule() const { return code->rule.get(); }
const CUDADevice &GPUKernel::getDevice() const { return *code->device; }

Expected<std::unique_ptr<GPUKernel>> GPUKernel::compile(llvm::StringRef text,
                                                        llvm::StringRef fileName,
                                                        const SpecOptions &options,
                                                        std::shared_ptr<CUDADevice> device) {
  const GPUDescription &gpu = device->getDescription();
  Expected<LoweredModule> module = parseForGPU(text, fileName, options);
  if (!module)
    return module.takeError();
  if (module->kernels.size() != 1)
    return llvm::createStringError(fileName + ": expected the name of one of its entries");
  if (Error error = lowerForGPU(*module, gpu, GPUPipelinePhase::Warp))
    return std::move(error);
  Expected<std::vector<LaunchDescription>> launches = describeLaunches(*module, gpu);
  if (!launches)
    return launches.takeError();
  KernelDescription &description = module->kernels.front();
  description.target = gpu.name;
  std::vector<LaunchDescription> stages;
  for (const LaunchStage &stage : description.plan.stages)
    for (const LaunchDescription &launch : *launches)
      if (launch.function == stage.function)
        stages.push_back(launch);
  Expected<std::string> ptx = emitKernelPTX(*module, "", gpu);
  if (!ptx)
    return ptx.takeError();
  auto code = std::make_unique<Code>(std::move(device), std::move(description), stages);
  CUDAError error;
  if (polyattn_cuda_load(&code->device->get(), &code->rule.get(), ptx->c_str(), &code->kernel,
                         error.text, sizeof error.text) != 0)
    return error.take();
  return std::unique_ptr<GPUKernel>(new GPUKernel(std::move(code)));
}

// Tensors that are not the entry's are no reason to choose, and refused by what follows.
int64_t GPUKernel::chooseSegments(llvm::ArrayRef<polyattn_tensor> tensors) const {
  std::vector<std::vector<int64_t>> shapes;
  for (const polyattn_tensor &tensor : tensors)
    shapes.emplace_back(tensor.sizes, tensor.sizes + std::max(tensor.rank, 0));
  std::vector<int64_t> ranks = code->description.ranks();
  if (!llvm::equal(shapes, ranks, [](const std::vector<int64_t> &shape, int64_t rank) {
        return int64_t(shape.size()) == rank;
      }))
    return 1;
  LaunchCall call(code->rule.getPlan(), std::move(shapes));
  call.choose(polyattn_rt_multiprocessors(code->device->getDescription().multiprocessors,
                                          code->kernel.resident_ctas));
  return call.getSegments();
}

Expected<int64_t> GPUKernel::workspaceBytes(llvm::ArrayRef<polyattn_tensor> tensors,
                                            int64_t segments) const {
  CUDAError error;
  int64_t bytes = 0;
  if (polyattn_cuda_workspace(&code->rule.get(), pointersTo(tensors).data(), tensors.size(),
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
  if (polyattn_rt_check(&code->tensorRules.get(), pointers.data(), pointers.size(), &sizes,
                        error.text, sizeof error.text) != 0 ||
      polyattn_rt_check_rows(&code->tensorRules.get(), pointers.data(), error.text,
                             sizeof error.text) != 0 ||
      polyattn_cuda_launch(&code->kernel, pointers.data(), pointers.size(),
                           segments ? segments : chooseSegments(tensors), workspace, workspaceBytes,
                           stream, error.text, sizeof error.text) != 0)
    return error.take();
  return Error::success();
}

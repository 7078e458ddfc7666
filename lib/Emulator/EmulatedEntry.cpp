//===- EmulatedEntry.cpp - the kernels of an entry on the host ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Emulator/EmulatedEntry.h"
#include "polyattn/Launch/LaunchCall.h"
#include "runtime/runtime.h"
#include "llvm/Support/MathExtras.h"
#include <deque>
#include <utility>

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {
/// Memory for the workspaces of a launch, each aligned as a device's is. What no program has
/// written is NaN.
class WorkspaceMemory {
public:
  void add(const LaunchWorkspace &workspace, std::vector<int64_t> sizes) {
    Tensor &tensor = tensors.emplace_back();
    tensor.sizes = std::move(sizes);
    tensor.bytes = bytesOf(workspace.dtype);
    tensor.strides.resize(tensor.sizes.size());
    int64_t count = 1;
    for (size_t i = tensor.sizes.size(); i-- > 0; count *= tensor.sizes[i])
      tensor.strides[i] = count;
    bool isZero = workspace.fill == LaunchWorkspace::Zero;
    tensor.storage.assign(count * tensor.bytes + kAlignment, std::byte(isZero ? 0 : 0xff));
  }

  /// Appends the workspaces of a stage. What its kernel has no store to is from a stage before it.
  void appendTo(std::vector<EmulatedTensor> &list, const LaunchStage &stage,
                const EmulatedKernel &kernel) {
    for (int64_t number : stage.workspaces) {
      Tensor &tensor = tensors[number];
      auto first = llvm::alignTo(reinterpret_cast<uint64_t>(tensor.storage.data()), kAlignment);
      list.push_back({{reinterpret_cast<void *>(first), tensor.sizes, tensor.strides},
                      tensor.bytes,
                      /*isResult=*/kernel.writes(list.size())});
    }
  }

private:
  static constexpr uint64_t kAlignment = 256;
  struct Tensor {
    std::vector<int64_t> sizes, strides;
    int64_t bytes = 0;
    std::vector<std::byte> storage;
  };
  std::deque<Tensor> tensors; // its elements stay where they are
};
} // namespace

/// What the emulator runs of all that plans can say.
static Error checkPlan(const LaunchPlan &plan, StringRef name) {
  bool isPlain = llvm::all_of(plan.stages,
                              [](const LaunchStage &stage) {
                                return stage.kind == LaunchStage::Plain ||
                                       stage.kind == LaunchStage::SumsSegments;
                              }) &&
                 llvm::all_of(plan.workspaces, [](const LaunchWorkspace &workspace) {
                   return workspace.fill != LaunchWorkspace::Launch;
                 });
  if (isPlain)
    return Error::success();
  return llvm::createStringError("@" + name + ": has stages or workspaces that are not for GPUs");
}

Expected<std::unique_ptr<EmulatedEntry>> EmulatedEntry::compile(ModuleOp module, StringRef name) {
  Expected<LaunchPlan> plan = planForGPU(module, name);
  if (!plan)
    return plan.takeError();
  if (Error error = checkPlan(*plan, name))
    return std::move(error);
  std::unique_ptr<EmulatedEntry> entry(new EmulatedEntry());
  entry->name = name.str();
  entry->plan = std::move(*plan);
  entry->kernels.resize(entry->plan.stages.size());
  auto last = EmulatedKernel::compile(module, entry->plan.stages.back().function);
  if (!last)
    return last.takeError();
  entry->kernels.back() = std::move(*last);
  if (entry->kernels.size() > 1)
    entry->module = module.clone();
  return std::move(entry);
}

Expected<EmulatedEntry::Report> EmulatedEntry::run(ArrayRef<EmulatedTensor> tensors,
                                                   const EmulatorOptions &options) {
  bool canCut = plan.find(LaunchExtent::Segments);
  if (options.segments != 1 && (!canCut || options.segments < 1))
    return llvm::createStringError("@" + name + ": its positions cannot be cut into " +
                                   Twine(options.segments) + " segments");
  LaunchCall call(plan, shapesOf(viewsOf(tensors)));
  call.setSegments(options.segments);
  WorkspaceMemory memory;
  for (auto [i, workspace] : llvm::enumerate(plan.workspaces))
    memory.add(workspace, call.shapeOf(i));

  Report report;
  for (auto [i, stage] : llvm::enumerate(plan.stages)) {
    bool isLast = i + 1 == plan.stages.size();
    EmulatorOptions own = options;
    own.programs = call.countPrograms(i);
    if (*own.programs == 0 && !isLast)
      continue;
    if (!kernels[i]) {
      auto compiled = EmulatedKernel::compile(*module, stage.function);
      if (!compiled)
        return compiled.takeError();
      kernels[i] = std::move(*compiled);
    }
    std::vector<EmulatedTensor> all = tensors.vec();
    memory.appendTo(all, stage, *kernels[i]);
    Expected<EmulatorReport> done = kernels[i]->run(all, own);
    if (!done)
      return done.takeError();
    if (isLast)
      report.kernel = std::move(*done);
    else
      report.states = std::move(*done);
  }
  return std::move(report);
}

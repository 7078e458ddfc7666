//===- EmulatorTarget.cpp - GPU kernels on the host as a target -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Emulator/EmulatedKernel.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/Target/NVPTX.h"

using namespace mlir;
using namespace polyattn;
using llvm::Error;
using llvm::Expected;

namespace {

class EmulatorExecutable : public Executable {
public:
  EmulatorExecutable(std::unique_ptr<EmulatedKernel> kernel, EmulatorOptions options)
      : kernel(std::move(kernel)), options(std::move(options)) {}

  Error run(const Call &call) override {
    std::vector<EmulatedTensor> tensors;
    auto add = [&](const HostTensor &tensor, bool isResult) {
      tensors.push_back(
          {{tensor.data, tensor.sizes, tensor.strides}, bytesOf(tensor.type), isResult});
    };
    for (const HostTensor &tensor : call.arguments)
      add(tensor, false);
    for (const HostTensor &tensor : call.results)
      add(tensor, true);
    Expected<EmulatorReport> done = kernel->run(tensors, options);
    if (!done)
      return done.takeError();
    report = *done;
    return Error::success();
  }

  void printFindings(llvm::raw_ostream &stream) const override { report.print(stream); }

private:
  std::unique_ptr<EmulatedKernel> kernel;
  EmulatorOptions options;
  EmulatorReport report;
};

class EmulatorTarget : public polyattn::Target {
public:
  explicit EmulatorTarget(StringRef chip) : chip(chip) {}

  Expected<std::unique_ptr<Executable>> compile(const EntrySource &source) override {
    AttentionOp attention = source.attention;
    OwningOpRef<ModuleOp> module = attention->getParentOfType<ModuleOp>().clone();
    std::string name = attention.getSymName().str();
    for (auto other : llvm::make_early_inc_range(module->getOps<AttentionOp>()))
      if (other.getSymName() != name)
        other.erase();
    Expected<GPUDescription> description = findGPU(chip);
    if (!description)
      return description.takeError();
    PassManager passes(module->getContext());
    buildGPUPipeline(passes, {*description, GPUPipelinePhase::Warp});
    if (failed(passes.run(*module)))
      return llvm::make_error<ReportedError>();
    auto kernel = EmulatedKernel::compile(*module, name);
    if (!kernel)
      return kernel.takeError();
    EmulatorOptions options;
    options.chip = chip;
    return std::make_unique<EmulatorExecutable>(std::move(*kernel), std::move(options));
  }

private:
  std::string chip;
};

} // namespace

void polyattn::registerEmulatorTargets(TargetRegistry &registry) {
  auto add = [&](StringRef name, StringRef chip) {
    registry.add(name, ("a GPU kernel for " + chip + ", emulated and checked").str(),
                 [=] { return std::make_unique<EmulatorTarget>(chip); });
  };
  add("emulator", "sm_80");
  add("emulator-sm_80", "sm_80");
  add("emulator-sm_90", "sm_90");
}

//===- CompileGPU.cpp - from a spec's text to a GPU's code ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/CompileGPU.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "polyattn/Launch/FromModule.h"
#include "polyattn/Spec/ParseSpec.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace polyattn;
using mlir::gpu::GPUFuncOp;
using mlir::gpu::GPUModuleOp;

static llvm::SmallVector<GPUFuncOp> kernelsOf(mlir::ModuleOp module) {
  llvm::SmallVector<GPUFuncOp> kernels;
  module.walk([&](GPUFuncOp kernel) { kernels.push_back(kernel); });
  return kernels;
}

/// Removes the kernels that the entry of that name does not launch. A kernel that no entry launches
/// is one by itself.
static llvm::Error chooseEntry(mlir::ModuleOp module, llvm::StringRef fileName,
                               llvm::StringRef name) {
  llvm::SmallVector<GPUFuncOp> kernels = kernelsOf(module);
  llvm::SmallVector<std::string> entries; // of each kernel
  for (GPUFuncOp kernel : kernels)
    entries.push_back(entryLaunching(module, kernel.getName()));
  if (!llvm::is_contained(entries, name)) {
    llvm::SetVector<llvm::StringRef> names(entries.begin(), entries.end());
    return llvm::createStringError(fileName + ": no kernel '" + name + "', expected one of " +
                                   llvm::join(names, ", "));
  }
  for (auto [kernel, entry] : llvm::zip_equal(kernels, entries))
    if (entry != name)
      kernel.erase();
  for (auto entry : llvm::make_early_inc_range(module.getOps<tile::EntryOp>()))
    if (entry.getEntry() != name)
      entry.erase();
  return llvm::Error::success();
}

llvm::Expected<LoweredModule> polyattn::parseForGPU(llvm::StringRef text, llvm::StringRef fileName,
                                                    const SpecOptions &options) {
  if (!holdsKernels(text))
    return parseSpec(text, fileName, options);
  if (options.direction.direction != CallDirection::Forward)
    return llvm::createStringError(fileName + ": kernels have no direction but forward, got '" +
                                   nameOf(options.direction.direction) + "'");
  if (options.packed)
    return llvm::createStringError(fileName + ": kernels are packed or not as they were compiled");
  llvm::Expected<LoweredModule> kernels = parseKernels(text, fileName);
  if (!kernels)
    return kernels.takeError();
  if (!options.entry.empty())
    if (llvm::Error error = chooseEntry(*kernels->module, fileName, options.entry))
      return std::move(error);
  return std::move(*kernels);
}

llvm::Error polyattn::lowerForGPU(LoweredModule &module, const GPUDescription &gpu,
                                  GPUPipelinePhase stopAfter) {
  if (module.kernels.empty())
    return llvm::Error::success();
  return runPipeline(*module.module, "GPU pipeline", [&](mlir::OpPassManager &passes) {
    buildGPUPipeline(passes, {gpu, stopAfter});
  });
}

static llvm::Error checkLimits(const LaunchDescription &launch, const GPUDescription &gpu) {
  auto tooMuch = [&](llvm::StringRef what, int64_t number, int64_t limit) {
    return llvm::createStringError("@" + launch.function + ": the kernel needs " +
                                   llvm::Twine(number) + " " + what + ", and " + gpu.name +
                                   " has " + llvm::Twine(limit));
  };
  if (launch.threads > gpu.maxThreadsPerBlock)
    return tooMuch("threads in a CTA", launch.threads, gpu.maxThreadsPerBlock);
  if (launch.sharedBytes > gpu.sharedBytesPerBlock)
    return tooMuch("bytes of shared memory", launch.sharedBytes, gpu.sharedBytesPerBlock);
  if (int64_t(launch.parameters.size()) > kMaxLaunchParameters)
    return tooMuch("parameters", launch.parameters.size(), kMaxLaunchParameters);
  if (launch.cluster > gpu.maxBlocksPerCluster)
    return tooMuch("CTAs in a cluster", launch.cluster, gpu.maxBlocksPerCluster);
  return llvm::Error::success();
}

llvm::Expected<std::vector<LaunchDescription>>
polyattn::describeLaunches(LoweredModule &module, const GPUDescription &gpu) {
  std::vector<LaunchDescription> launches;
  for (GPUFuncOp kernel : kernelsOf(*module.module)) {
    llvm::Expected<LaunchDescription> launch = describeLaunch(kernel);
    if (!launch)
      return launch.takeError();
    if (llvm::Error error = checkLimits(*launch, gpu))
      return std::move(error);
    launches.push_back(std::move(*launch));
  }
  if (launches.empty())
    return llvm::createStringError("the GPU pipeline does not lower this spec yet");
  for (KernelDescription &entry : module.kernels) {
    llvm::Expected<LaunchPlan> plan = planForGPU(*module.module, entry.entry);
    if (!plan)
      return plan.takeError();
    if (llvm::Error error = plan->verify(entry.ranks()))
      return error;
    entry.plan = std::move(*plan);
  }
  return std::move(launches);
}

/// A module of one gpu.module with copies of the kernels.
static mlir::OwningOpRef<mlir::ModuleOp> copyKernels(mlir::ModuleOp module, llvm::StringRef name) {
  mlir::OpBuilder builder(module.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> copy = mlir::ModuleOp::create(module.getLoc());
  builder.setInsertionPointToStart(copy->getBody());
  auto kernels = GPUModuleOp::create(builder, module.getLoc(), "kernels");
  builder.setInsertionPointToStart(kernels.getBody());
  for (GPUFuncOp kernel : kernelsOf(module))
    if (name.empty() || kernel.getName() == name)
      builder.clone(*kernel);
  return copy;
}

static llvm::Error withCode(LoweredModule &module, llvm::StringRef kernel,
                            const GPUDescription &gpu,
                            llvm::function_ref<llvm::Error(GPUCode)> use) {
  // The pipeline consumes what describes the launch, and the caller may want other kernels yet.
  mlir::OwningOpRef<mlir::ModuleOp> copy = copyKernels(*module.module, kernel);
  if (llvm::Error error = runPipeline(*copy, "GPU pipeline", [&](mlir::OpPassManager &passes) {
        buildWarpToNVVMPipeline(passes, gpu);
      }))
    return error;
  llvm::LLVMContext context;
  GPUModuleOp kernels = *copy->getOps<GPUModuleOp>().begin();
  llvm::Expected<GPUCode> code = translateToLLVMIR(kernels, context, gpu);
  if (!code)
    return code.takeError();
  return use(std::move(*code));
}

llvm::Expected<std::string> polyattn::emitKernelLLVM(LoweredModule &module, llvm::StringRef kernel,
                                                     const GPUDescription &gpu) {
  std::string text;
  llvm::Error error = withCode(module, kernel, gpu, [&](GPUCode code) {
    llvm::raw_string_ostream(text) << *code.module;
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return text;
}

llvm::Expected<std::string> polyattn::emitKernelPTX(LoweredModule &module, llvm::StringRef kernel,
                                                    const GPUDescription &gpu) {
  std::string text;
  llvm::Error error = withCode(module, kernel, gpu, [&](GPUCode code) {
    return generatePTX(std::move(code)).moveInto(text);
  });
  if (error)
    return std::move(error);
  return text;
}

//===- KernelFiles.cpp - the files of a GPU's kernels ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "OutputFiles.h"
#include "polyattn/Launch/FromModule.h"
#include "polyattn/Target/NVPTX.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace polyattn;

/// A kernel that spills or loses speed is a kernel still; it is said, not refused.
static void warn(const Cubin &cubin) {
  for (const std::string &warning : cubin.warnings)
    llvm::errs() << "polyattn-compile: warning: " << warning << '\n';
  for (const KernelResources &kernel : cubin.kernels)
    if (kernel.spillStoreBytes || kernel.spillLoadBytes)
      llvm::errs() << "polyattn-compile: warning: @" << kernel.function << " spills "
                   << kernel.spillStoreBytes << " bytes of registers in a thread\n";
}

static llvm::Expected<Cubin> assemble(llvm::StringRef ptx, const GPUDescription &gpu,
                                      llvm::StringRef program) {
  llvm::Expected<Cubin> cubin = assemblePTX(ptx, gpu, program);
  if (cubin)
    warn(*cubin);
  return cubin;
}

static llvm::Expected<std::string> emitCubin(LoweredModule &module, llvm::StringRef kernel,
                                             const GPUDescription &gpu, llvm::StringRef ptxas) {
  llvm::Expected<std::string> program = findPtxas(ptxas);
  if (!program)
    return program.takeError();
  llvm::Expected<std::string> ptx = emitKernelPTX(module, kernel, gpu);
  if (!ptx)
    return ptx.takeError();
  llvm::Expected<Cubin> cubin = assemble(*ptx, gpu, *program);
  if (!cubin)
    return cubin.takeError();
  return std::move(cubin->bytes);
}

const KernelDescription *polyattn::entryOf(const LoweredModule &module, llvm::StringRef kernel) {
  std::string name = entryLaunching(*module.module, kernel);
  for (const KernelDescription &entry : module.kernels)
    if (entry.entry == name)
      return &entry;
  return nullptr;
}

static std::string toText(const llvm::json::Value &value) {
  return llvm::formatv("{0:2}\n", value).str();
}

/// The JSON of a kernel, with the plan of the entry that launches it.
static llvm::Expected<llvm::json::Value> describe(LoweredModule &module,
                                                  const LaunchDescription &launch,
                                                  const GPUDescription &gpu, llvm::StringRef code) {
  auto plan = planForGPU(*module.module, entryLaunching(*module.module, launch.function));
  if (!plan)
    return plan.takeError();
  return describeKernelFile(launch, *plan, gpu, entryOf(module, launch.function), code);
}

static llvm::Expected<std::string> emitText(LoweredModule &module, const GPUDescription &gpu,
                                            Emit emit, llvm::StringRef ptxas) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  switch (emit) {
  case Emit::LLVM:
    return emitKernelLLVM(module, "", gpu);
  case Emit::PTX:
    return emitKernelPTX(module, "", gpu);
  case Emit::Cubin:
    return emitCubin(module, "", gpu, ptxas);
  case Emit::JSON: {
    auto launches = describeLaunches(module, gpu);
    if (!launches)
      return launches.takeError();
    llvm::json::Array kernels;
    for (const LaunchDescription &launch : *launches) {
      auto description = describe(module, launch, gpu, "");
      if (!description)
        return description.takeError();
      kernels.push_back(std::move(*description));
    }
    return toText(std::move(kernels));
  }
  default:
    stream << *module.module << '\n';
    return text;
  }
}

/// NAME.ptx, NAME.cubin and NAME.json of every kernel, all of them or none.
static llvm::Error emitKernels(LoweredModule &module, const GPUDescription &gpu,
                               llvm::ArrayRef<LaunchDescription> launches,
                               llvm::StringRef directory, llvm::StringRef ptxas) {
  llvm::Expected<std::string> program = findPtxas(ptxas);
  if (!program)
    return program.takeError();
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError(directory + ": " + code.message());
  OutputFiles files;
  for (const LaunchDescription &launch : launches) {
    llvm::Expected<std::string> ptx = emitKernelPTX(module, launch.function, gpu);
    if (!ptx)
      return ptx.takeError();
    llvm::Expected<Cubin> cubin = assemble(*ptx, gpu, *program);
    if (!cubin)
      return cubin.takeError();
    std::string base = (directory + "/" + launch.function).str();
    auto description = describe(module, launch, gpu, cubin->bytes);
    if (!description)
      return description.takeError();
    if (llvm::Error error = files.add(base + ".ptx", *ptx))
      return error;
    if (llvm::Error error = files.add(base + ".cubin", cubin->bytes))
      return error;
    if (llvm::Error error = files.add(base + ".json", toText(*description)))
      return error;
  }
  return files.commit();
}

llvm::Error polyattn::emitForGPU(LoweredModule &module, const GPUDescription &gpu, Emit emit,
                                 llvm::StringRef output, llvm::StringRef ptxas) {
  if (emit != Emit::Tile) {
    // Whatever is written, what could not be launched is an error.
    auto launches = describeLaunches(module, gpu);
    if (!launches)
      return launches.takeError();
    if (emit == Emit::Kernels)
      return emitKernels(module, gpu, *launches, output, ptxas);
  }
  llvm::Expected<std::string> text = emitText(module, gpu, emit, ptxas);
  if (!text)
    return text.takeError();
  OutputFiles files;
  if (llvm::Error error = files.add(output, *text))
    return error;
  return files.commit();
}

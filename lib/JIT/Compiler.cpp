//===- Compiler.cpp - a spec to a kernel that can be called ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/Compiler.h"
#include "polyattn/Files/InputFile.h"
#include "polyattn/JIT/KernelCache.h"

using namespace polyattn;

/// Everything but the spec's name, which only diagnostics show.
static std::string cacheKey(llvm::StringRef text, const CompileOptions &options) {
  const MachineDescription &machine = options.machine;
  std::string numbers;
  llvm::raw_string_ostream(numbers)
      << machine.vectorWidth << ' ' << machine.vectorRegisters << ' ' << machine.l1Bytes << ' '
      << machine.l2Bytes << ' ' << options.codegen.optimizationLevel << ' '
      << options.codegen.optimizeIR << ' ' << options.invariant << ' ' << options.packed << ' '
      << options.direction.gradients.accumulate << ' ' << options.direction.gradients.stateEvery;
  for (const auto &[name, size] : options.sizes)
    numbers += " " + name + "=" + std::to_string(size);
  std::string instructions = toText(machine.instructions);
  llvm::SmallVector<llvm::StringRef> parts = {
      text,          options.entry,    nameOf(options.direction.direction),
      options.dtype, machine.name,     machine.triple,
      machine.cpu,   machine.features, instructions,
      numbers};
  const std::vector<std::string> &wrt = options.direction.gradients.wrt;
  parts.append(wrt.begin(), wrt.end());
  return KernelCache::key(parts);
}

static llvm::Expected<CompiledObject> compileOne(llvm::StringRef text, llvm::StringRef fileName,
                                                 const CompileOptions &options) {
  llvm::Expected<LoweredModule> module = parseSpec(text, fileName, options);
  if (!module)
    return module.takeError();
  if (module->kernels.size() != 1)
    return expectedOneEntry(fileName, module->kernels);
  if (llvm::Error error = lower(*module, options))
    return std::move(error);
  return compileLowered(*module, options);
}

SpecOptions polyattn::specOptionsOf(const JITOptions &options) {
  return {options.entry,     options.dtype,
          options.invariant, {options.direction, /*pair=*/false, options.gradients},
          options.packed,    options.sizes};
}

llvm::Expected<CompileOptions> polyattn::compileOptionsOf(const JITOptions &options) {
  llvm::Expected<MachineDescription> machine = findMachine(options.target);
  if (!machine)
    return machine.takeError();
  return CompileOptions{specOptionsOf(options), *machine, options.codegen};
}

llvm::Expected<std::unique_ptr<CompiledKernel>>
polyattn::compileKernel(llvm::StringRef text, llvm::StringRef fileName,
                        const JITOptions &jitOptions) {
  llvm::Expected<CompileOptions> read = compileOptionsOf(jitOptions);
  if (!read)
    return read.takeError();
  const CompileOptions &options = *read;
  if (!isHostArchitecture(options.machine))
    return llvm::createStringError("code for target '" + jitOptions.target +
                                   "' cannot run on this machine");

  KernelCache cache(jitOptions.cacheDirectory ? *jitOptions.cacheDirectory
                                              : KernelCache::defaultDirectory());
  std::string key = cacheKey(text, options);
  if (std::optional<KernelCache::Entry> cached = cache.find(key)) {
    auto kernel = CompiledKernel::load(std::move(cached->description), std::move(cached->object));
    if (kernel)
      return kernel;
    // An object that does not link is as good as none.
    llvm::consumeError(kernel.takeError());
  }
  // Copies of everything: a caller that cancels takes away what it gave.
  llvm::Expected<CompiledObject> compiled =
      makeOrAbandon<CompiledObject>([spec = text.str(), name = fileName.str(),
                                     options] { return compileOne(spec, name, options); },
                                    jitOptions.cancelled);
  if (!compiled)
    return compiled.takeError();
  llvm::StringRef object(compiled->object.data(), compiled->object.size());
  KernelDescription &description = compiled->kernels.front();
  (void)cache.store(key, description, object);
  return CompiledKernel::load(std::move(description),
                              llvm::MemoryBuffer::getMemBufferCopy(object, fileName));
}

llvm::Expected<TrainingKernel> polyattn::compileTraining(llvm::StringRef text,
                                                         llvm::StringRef fileName,
                                                         const JITOptions &options) {
  TrainingKernel kernels;
  for (auto [direction, kernel] : {std::pair(CallDirection::Training, &kernels.forward),
                                   std::pair(CallDirection::Backward, &kernels.backward)}) {
    JITOptions own = options;
    own.direction = direction;
    auto compiled = compileKernel(text, fileName, own);
    if (!compiled)
      return compiled.takeError();
    *kernel = std::move(*compiled);
  }
  return std::move(kernels);
}

llvm::Expected<std::unique_ptr<CompiledKernel>>
polyattn::compileKernelFromFile(llvm::StringRef path, const JITOptions &options) {
  auto file = readSpecFile(path);
  if (!file)
    return llvm::createStringError(path + ": " + llvm::toString(file.takeError()));
  return compileKernel((*file)->getBuffer(), path, options);
}

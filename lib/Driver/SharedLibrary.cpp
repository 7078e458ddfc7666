//===- SharedLibrary.cpp - a shared library, its header and description ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Embedded.h"
#include "EntryPoints.h"
#include "OutputFiles.h"
#include "polyattn/Driver/CompileMain.h"
#include "polyattn/Driver/Version.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace polyattn;

/// A compiler driver to link with: it knows where the system's C library is.
static llvm::Expected<std::string> findLinker() {
  if (std::optional<std::string> chosen = llvm::sys::Process::GetEnv("POLYATTN_LINKER")) {
    if (auto path = llvm::sys::findProgramByName(*chosen))
      return *path;
    return llvm::createStringError("POLYATTN_LINKER: there is no program '" + *chosen + "'");
  }
  for (llvm::StringRef name : {"cc", "clang", "clang-22", "gcc"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError("--emit lib links with a C compiler, and none of cc, clang, "
                                 "clang-22, gcc is in PATH; POLYATTN_LINKER may name one");
}

/// Runs the linker; what it said goes into the error, on one line.
static llvm::Error link(llvm::ArrayRef<llvm::StringRef> arguments, llvm::StringRef messages) {
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), messages, messages};
  std::string problem;
  int status = llvm::sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  if (status == 0)
    return llvm::Error::success();
  if (auto said = llvm::MemoryBuffer::getFile(messages); said && !(*said)->getBuffer().empty())
    problem = (*said)->getBuffer().trim().split('\n').first.str();
  return llvm::createStringError(
      llvm::formatv("{0} failed with status {1}: {2}", arguments.front(), status, problem));
}

static llvm::Expected<llvm::SmallVector<char, 0>>
compileWithEntryPoints(LoweredModule &module, const CompileOptions &options, llvm::StringRef stem) {
  llvm::SmallVector<char, 0> object;
  llvm::Error error =
      withLLVMIR(module, options, [&](llvm::Module &code, llvm::TargetMachine &target) {
        if (llvm::Error error = checkCNames(stem, module.kernels))
          return error;
        useKernelSymbols(code);
        addEntryPoints(code, stem, withKernelSymbols(module.kernels));
        return generateCode(code, target, CodeFile::Object, options.codegen).moveInto(object);
      });
  if (error)
    return std::move(error);
  return std::move(object);
}

llvm::Error polyattn::emitSharedLibrary(LoweredModule &module, const CompileOptions &options,
                                        llvm::StringRef directory, llvm::StringRef stem) {
  if (!isHostArchitecture(options.machine))
    return llvm::createStringError(
        "--emit lib needs the runtime of the target's architecture, and this compiler carries "
        "only its own; --emit obj works for target '" +
        options.machine.name + "'");
  auto object = compileWithEntryPoints(module, options, stem);
  if (!object)
    return object.takeError();
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError(directory + ": " + code.message());

  std::string base = (directory + "/" + stem).str(), library = ("lib" + stem + ".so").str();
  OutputFiles files;
  auto objectFile = files.addScratch(base + ".o", llvm::StringRef(object->data(), object->size()));
  if (!objectFile)
    return objectFile.takeError();
  auto runtime = files.addScratch(base + ".a", embeddedRuntime());
  if (!runtime)
    return runtime.takeError();
  auto messages = files.addScratch(base + ".log", "");
  if (!messages)
    return messages.takeError();
  auto output = files.add(directory + "/" + library);
  if (!output)
    return output.takeError();
  std::string outputName = output->str(), name = "-Wl,-soname," + library;
  if (llvm::Error error = link({*linker, "-shared", "-o", outputName, *objectFile, *runtime, name,
                                "-Wl,-z,defs", "-Wl,-z,noexecstack", "-lpthread", "-lm"},
                               *messages))
    return error;

  llvm::json::Array entries;
  for (const KernelDescription &kernel : module.kernels)
    entries.push_back(kernel.toJSON());
  llvm::json::Value description = llvm::json::Object{{"library", library},
                                                     {"header", (stem + ".h").str()},
                                                     {"compiler", version()},
                                                     {"interface", POLYATTN_ABI_VERSION},
                                                     {"entries", std::move(entries)}};
  if (llvm::Error error = files.add(base + ".h", writeHeader(stem, module.kernels)))
    return error;
  if (llvm::Error error = files.add(base + ".json", llvm::formatv("{0:2}\n", description).str()))
    return error;
  return files.commit();
}

//===- SharedLibrary.cpp - a shared library, its header and description ---===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Embedded.h"
#include "EntryPoints.h"
#include "OutputFiles.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Driver/CompileMain.h"
#include "polyattn/Files/ScratchFolder.h"
#include "polyattn/Tasks/Cancelled.h"
#include "llvm/ADT/StringExtras.h"
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

/// What a program said, on one line.
static std::string wordsOf(llvm::StringRef file) {
  constexpr size_t kMost = 2000;
  auto said = llvm::MemoryBuffer::getFile(file);
  llvm::SmallVector<llvm::StringRef> lines;
  if (said)
    (*said)->getBuffer().split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string words = llvm::join(lines, "; ");
  if (words.size() > kMost)
    words = words.substr(0, kMost) + " ...";
  return words;
}

/// Runs the linker and gives what it wrote; what it said goes into the error.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
link(llvm::ArrayRef<llvm::StringRef> arguments, llvm::StringRef output, llvm::StringRef messages) {
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), messages, messages};
  std::string problem;
  int status = llvm::sys::ExecuteAndWait(arguments.front(), arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  std::string words = wordsOf(messages);
  for (std::string *text : {&words, &problem})
    if (!text->empty())
      text->insert(0, ": ");
  if (status != 0)
    return llvm::createStringError(llvm::formatv(
        "{0} failed with status {1}{2}{3}", arguments.front(), status, problem,
        words.empty() && problem.empty() ? llvm::StringRef(" and said nothing") : words));
  auto library = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (library && (*library)->getBuffer().starts_with("\x7f"
                                                     "ELF"))
    return std::move(*library);
  return llvm::createStringError(
      llvm::formatv("{0} ended well but wrote no library{1}", arguments.front(), words));
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

/// A second entry of a spec would take the place of the first one's library, which has its name.
static llvm::Error checkReplaced(const std::string &description,
                                 llvm::ArrayRef<KernelDescription> kernels) {
  auto file = llvm::MemoryBuffer::getFile(description);
  if (!file)
    return llvm::Error::success();
  auto old = llvm::json::parse((*file)->getBuffer());
  const llvm::json::Object *object = old ? old->getAsObject() : nullptr;
  const llvm::json::Array *entries = object ? object->getArray("entries") : nullptr;
  std::string lost;
  for (const llvm::json::Value &entry : entries ? *entries : llvm::json::Array()) {
    const llvm::json::Object *one = entry.getAsObject();
    llvm::StringRef name = one ? one->getString("entry").value_or("") : "";
    if (!name.empty() && llvm::none_of(kernels, [&](const KernelDescription &kernel) {
          return kernel.entry == name;
        }))
      lost += (lost.empty() ? "" : ", ") + name.str();
  }
  if (!old)
    llvm::consumeError(old.takeError());
  if (lost.empty())
    return llvm::Error::success();
  return llvm::createStringError(description + ": the library there has " + lost +
                                 ", which the new one would not have: compile all entries "
                                 "together, or give each a folder");
}

/// The runtime for this architecture, which the compiler carries.
static llvm::Expected<std::vector<std::string>> runtimeArchive(ScratchFolder &scratch) {
  auto file = scratch.write("runtime.a", embeddedRuntime());
  if (!file)
    return file.takeError();
  return std::vector<std::string>{*file};
}

/// The runtime's sources, and how a C compiler of another architecture builds them.
static llvm::Expected<std::vector<std::string>> runtimeSources(ScratchFolder &scratch) {
  std::vector<std::string> arguments = {"-std=c11",
                                        "-O2",
                                        "-fPIC",
                                        "-fvisibility=hidden",
                                        "-D_POSIX_C_SOURCE=200809L",
                                        "-DPOLYATTN_RT_EMBEDDED",
                                        "-I" + scratch.path("")};
  for (const EmbeddedFile &source : embeddedRuntimeSources()) {
    auto file = scratch.write(source.path, source.text());
    if (!file)
      return file.takeError();
    if (source.path.ends_with(".c"))
      arguments.push_back(*file);
  }
  return arguments;
}

llvm::Error polyattn::emitSharedLibrary(LoweredModule &module, const CompileOptions &options,
                                        llvm::StringRef directory, llvm::StringRef stem) {
  bool isHost = isHostArchitecture(options.machine);
  if (!isHost && !llvm::sys::Process::GetEnv("POLYATTN_LINKER"))
    return llvm::createStringError(
        "--emit lib for target '" + options.machine.name +
        "' builds the runtime with a C compiler for that target, which POLYATTN_LINKER must name, "
        "as in POLYATTN_LINKER=aarch64-linux-gnu-gcc; --emit obj needs none");
  auto object = compileWithEntryPoints(module, options, stem);
  if (!object)
    return object.takeError();
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  std::string base = (directory + "/" + stem).str(), library = ("lib" + stem + ".so").str();
  if (llvm::Error error = checkReplaced(base + ".json", module.kernels))
    return error;

  // A linker that outlives us must not write into the folder of the results.
  llvm::Expected<ScratchFolder> scratch = ScratchFolder::create();
  if (!scratch)
    return scratch.takeError();
  auto objectFile = scratch->write("kernels.o", llvm::StringRef(object->data(), object->size()));
  if (!objectFile)
    return objectFile.takeError();
  auto runtime = isHost ? runtimeArchive(*scratch) : runtimeSources(*scratch);
  if (!runtime)
    return runtime.takeError();
  std::string outputFile = scratch->path("library.so"), name = "-Wl,-soname," + library;
  std::vector<llvm::StringRef> arguments = {*linker, "-shared", "-o", outputFile, *objectFile};
  arguments.insert(arguments.end(), runtime->begin(), runtime->end());
  arguments.insert(arguments.end(),
                   {name, "-Wl,-z,defs", "-Wl,-z,noexecstack", "-lpthread", "-lm"});
  auto linked = link(arguments, outputFile, scratch->path("messages"));
  if (!linked)
    return linked.takeError();

  if (!beginWriting())
    return llvm::make_error<CancelledError>();
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError(directory + ": " + code.message());
  OutputFiles files;
  if (llvm::Error error =
          files.add(directory + "/" + library, (*linked)->getBuffer(), /*isProgram=*/true))
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

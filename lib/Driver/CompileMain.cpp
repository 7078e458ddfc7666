//===- CompileMain.cpp - polyattn-compile as a library --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/CompileMain.h"
#include "Explain.h"
#include "OutputFiles.h"
#include "polyattn/Driver/Version.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;

namespace {
enum class Emit { Tile, LLVM, Assembly, Object, Library };
} // namespace

static llvm::Expected<Emit> parseEmit(llvm::StringRef name) {
  auto kind = llvm::StringSwitch<std::optional<Emit>>(name)
                  .Case("tile", Emit::Tile)
                  .Case("llvm", Emit::LLVM)
                  .Case("asm", Emit::Assembly)
                  .Case("obj", Emit::Object)
                  .Case("lib", Emit::Library)
                  .Default(std::nullopt);
  if (kind)
    return *kind;
  return llvm::createStringError("unknown --emit '" + name +
                                 "', expected one of tile, llvm, asm, obj, lib");
}

/// Writes a file whole or not at all; "-" is the standard output.
static llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content) {
  OutputFiles files;
  if (llvm::Error error = files.add(path, content))
    return error;
  return files.commit();
}

static llvm::Error emitText(LoweredModule &module, const CompileOptions &options, Emit emit,
                            llvm::StringRef output) {
  if (emit == Emit::Tile) {
    std::string text;
    llvm::raw_string_ostream(text) << *module.module << '\n';
    return writeFile(output, text);
  }
  return withLLVMIR(
      module, options, [&](llvm::Module &code, llvm::TargetMachine &target) -> llvm::Error {
        if (emit == Emit::LLVM) {
          std::string text;
          llvm::raw_string_ostream(text) << code;
          return writeFile(output, text);
        }
        CodeFile file = emit == Emit::Assembly ? CodeFile::Assembly : CodeFile::Object;
        auto bytes = generateCode(code, target, file, options.codegen);
        if (!bytes)
          return bytes.takeError();
        return writeFile(output, llvm::StringRef(bytes->data(), bytes->size()));
      });
}

namespace {
/// The command line, alive only while polyattn-compile runs.
struct Arguments {
  llvm::cl::OptionCategory what{"What to compile"};
  llvm::cl::OptionCategory result{"What to write"};
  llvm::cl::opt<std::string> input{llvm::cl::Positional, llvm::cl::desc("SPEC.mlir"),
                                   llvm::cl::Required, llvm::cl::cat(what)};
  llvm::cl::opt<std::string> entry{"entry", llvm::cl::desc("The attention (default: all of them)"),
                                   llvm::cl::value_desc("NAME"), llvm::cl::cat(what)};
  llvm::cl::opt<std::string> target{
      "target",
      llvm::cl::desc("The machine: cpu (this one, the default), x86-64, x86-64-v3 (AVX2), "
                     "x86-64-v4 (AVX-512) or aarch64"),
      llvm::cl::init("cpu"), llvm::cl::value_desc("NAME"), llvm::cl::cat(what)};
  llvm::cl::opt<std::string> direction{"direction", llvm::cl::desc("forward, the only one so far"),
                                       llvm::cl::init("forward"), llvm::cl::value_desc("NAME"),
                                       llvm::cl::cat(what)};
  llvm::cl::opt<bool> optimizeIR{"optimize-ir",
                                 llvm::cl::desc("Run LLVM's -O2 pipeline before code generation"),
                                 llvm::cl::cat(what)};
  llvm::cl::opt<std::string> output{
      "o", llvm::cl::desc("A file, - for standard output; for --emit lib a directory"),
      llvm::cl::value_desc("OUT"), llvm::cl::Required, llvm::cl::cat(result)};
  llvm::cl::opt<std::string> emit{
      "emit",
      llvm::cl::desc("lib (a shared library, its C header and a JSON description, the default), "
                     "obj, asm, llvm (LLVM IR) or tile (block programs)"),
      llvm::cl::init("lib"), llvm::cl::value_desc("KIND"), llvm::cl::cat(result)};
  llvm::cl::opt<bool> explain{
      "explain", llvm::cl::desc("Say on standard error what was decided, and at what costs"),
      llvm::cl::cat(result)};
};
} // namespace

/// What a library is called: as the spec's file.
static llvm::StringRef stemOf(llvm::StringRef input) {
  return input == "-" ? "kernels" : llvm::sys::path::stem(input);
}

static llvm::Error compile(const Arguments &arguments) {
  llvm::Expected<Emit> emit = parseEmit(arguments.emit);
  if (!emit)
    return emit.takeError();
  if (arguments.direction != "forward")
    return llvm::createStringError("unknown --direction '" + arguments.direction +
                                   "', expected forward");
  CompileOptions options;
  options.entry = arguments.entry;
  options.codegen.optimizeIR = arguments.optimizeIR;
  llvm::Expected<MachineDescription> machine = findMachine(arguments.target);
  if (!machine)
    return machine.takeError();
  options.machine = *machine;
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(arguments.input);
  if (!file)
    return llvm::createStringError(arguments.input + ": " + file.getError().message());
  llvm::Expected<LoweredModule> module = parseSpec((*file)->getBuffer(), arguments.input, options);
  if (!module)
    return module.takeError();
  if (llvm::Error error =
          lower(*module, options,
                *emit == Emit::Tile ? CPUPipelinePhase::Tile : CPUPipelinePhase::LLVMDialect))
    return error;
  llvm::Error error = *emit == Emit::Library ? emitSharedLibrary(*module, options, arguments.output,
                                                                 stemOf(arguments.input))
                                             : emitText(*module, options, *emit, arguments.output);
  if (error || !arguments.explain)
    return error;
  return explain(llvm::errs(), *module, (*file)->getBuffer(), arguments.input, options);
}

int polyattn::compileMain(int argc, char **argv) {
  Arguments arguments;
  llvm::cl::SetVersionPrinter(printVersion);
  llvm::cl::HideUnrelatedOptions({&arguments.what, &arguments.result});
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!llvm::cl::ParseCommandLineOptions(
          argc, argv,
          "Compiles attention specs: polyattn-compile specs/linear.mlir --entry linear -o out\n",
          &stream)) {
    // One line is enough; the rest repeats how to ask for help.
    llvm::errs() << llvm::StringRef(problems).split('\n').first << '\n';
    return 1;
  }
  llvm::Error error = compile(arguments);
  if (!error)
    return 0;
  bool isLocated = error.isA<SpecError>();
  llvm::errs() << (isLocated ? "" : "polyattn-compile: error: ") << llvm::toString(std::move(error))
               << '\n';
  return 1;
}

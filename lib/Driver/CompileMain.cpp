//===- CompileMain.cpp - polyattn-compile as a library --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/CompileMain.h"
#include "CommandLine.h"
#include "Emit.h"
#include "OutputFiles.h"
#include "ProgressLine.h"
#include "dialects/Attributes/DidYouMean.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Driver/Explain.h"
#include "polyattn/Files/InputFile.h"
#include "polyattn/Target/CPU.h"
#include "polyattn/Target/NVPTX.h"
#include "polyattn/Tasks/Task.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace polyattn;

/// Writes a file whole or not at all; "-" is the standard output.
static llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content) {
  OutputFiles files;
  if (llvm::Error error = files.add(path, content))
    return error;
  return files.commit();
}

/// An object file's symbols are the names of its entries, and whoever links it has C's library,
/// too.
static llvm::Error checkSymbols(const llvm::Module &code) {
  llvm::TargetLibraryInfoImpl library(code.getTargetTriple());
  for (const llvm::Function &function : code) {
    llvm::LibFunc known;
    llvm::StringRef name = function.getName();
    if (!function.isDeclaration() &&
        (library.getLibFunc(name, known) || name == "main" || name.starts_with("polyattn_rt_")))
      return llvm::createStringError("@" + name +
                                     ": an object file would define a function of that name for "
                                     "the whole program; --emit lib does not");
  }
  return llvm::Error::success();
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
        if (llvm::Error error = checkSymbols(code))
          return error;
        CodeFile file = emit == Emit::Assembly ? CodeFile::Assembly : CodeFile::Object;
        auto bytes = generateCode(code, target, file, options.codegen);
        if (!bytes)
          return bytes.takeError();
        return writeFile(output, llvm::StringRef(bytes->data(), bytes->size()));
      });
}

/// The help of --target.
static std::string listMachines() {
  std::string text = "the machine (default: cpu): ";
  for (const MachineName &machine : namedMachines())
    text += (machine.name + " (" + machine.description + "), ").str();
  return text + "or a GPU: " + listGPUs();
}

static driver::CommandLine commandLine() {
  constexpr llvm::StringLiteral what = "what to compile", result = "what to write";
  std::vector<driver::Option> options = driver::specOptions(
      what, "the attention (default: all of them)",
      "forward (the default), training (a pair, NAME__forward and NAME__backward), backward (of "
      "the pair, NAME__backward alone), decode (NAME__decode, which continues sequences in pools "
      "of states), states or gradient_states (NAME__states and NAME__gradient_states: the sums of "
      "a segment, for the states after it and the gradients of those before it)");
  std::vector<driver::Option> more = {
      {what, "target", "NAME", listMachines()},
      {what, "optimize-ir", "", "run LLVM's -O2 pipeline before code generation"},
      {result, "o", "OUT", "a file, - for standard output; for --emit lib and kernels a directory"},
      {result, "emit", "KIND",
       "for processors: lib (a shared library, its C header and a JSON description, the default), "
       "obj, asm, llvm (LLVM IR) or tile (tile kernels); for GPUs: kernels (NAME.ptx, NAME.cubin "
       "and NAME.json of each kernel, the default), ptx, cubin, json, llvm, warp (programs of a "
       "thread) or tile"},
      {result, "ptxas", "PROGRAM", "NVIDIA's assembler (default: in CUDA_HOME or PATH)"},
      {result, "explain", "", "print on standard error what was decided, and the costs"},
  };
  options.insert(options.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  return driver::CommandLine(std::move(options));
}

namespace {
struct Arguments {
  SpecOptions what;
  std::string input, target, output, emit, ptxas;
  bool optimizeIR = false, explain = false;
};
} // namespace

static llvm::Expected<Arguments> readArguments(const driver::CommandLine &line) {
  llvm::ArrayRef<std::string> inputs = line.positional();
  if (inputs.empty())
    return llvm::createStringError("expected a spec, as in polyattn-compile specs/linear.mlir "
                                   "--entry linear -o out");
  if (inputs.size() > 1)
    return llvm::createStringError("expected one SPEC.mlir, got '" + inputs[0] + "' and '" +
                                   inputs[1] + "'");
  llvm::Expected<SpecOptions> what = driver::readSpecOptions(line);
  if (!what)
    return what.takeError();
  what->direction.pair = true;
  auto value = [&](llvm::StringRef name, llvm::StringRef otherwise = "") {
    return line.value(name).value_or(otherwise).str();
  };
  return Arguments{
      std::move(*what), inputs.front(), value("target", "cpu"),   value("o"),
      value("emit"),    value("ptxas"), line.flag("optimize-ir"), line.flag("explain")};
}

/// What a library is called: as the spec's file.
static llvm::StringRef stemOf(llvm::StringRef input) {
  return input == "-" ? "kernels" : llvm::sys::path::stem(input);
}

/// After what else may be wrong: this is the smallest mistake.
static llvm::Error checkOutput(const Arguments &arguments) {
  if (!arguments.output.empty())
    return llvm::Error::success();
  return llvm::createStringError("-o: expected a directory or a file for the result, as in -o out");
}

/// None where what is written goes to standard output, which may be the same terminal.
static std::unique_ptr<ProgressLine> showProgress(const Arguments &arguments) {
  if (arguments.output == "-")
    return nullptr;
  return std::make_unique<ProgressLine>("polyattn-compile: compiling " + arguments.input);
}

/// What findMachine says, with the GPUs.
static llvm::Error unknownTarget(llvm::StringRef name) {
  std::string known = "cpu, native, ";
  llvm::SmallVector<MachineName> machines = namedMachines();
  for (const MachineName &machine : llvm::drop_begin(machines))
    known += machine.name.str() + ", ";
  known += listGPUs();
  return llvm::createStringError("unknown target '" + name + "', expected one of " + known +
                                 didYouMean(name, known));
}

static llvm::Error compileForCPU(const Arguments &arguments, llvm::StringRef spec, Emit emit) {
  CompileOptions options;
  static_cast<SpecOptions &>(options) = arguments.what;
  options.codegen.optimizeIR = arguments.optimizeIR;
  llvm::Expected<MachineDescription> machine = findMachine(arguments.target);
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return unknownTarget(arguments.target);
  }
  options.machine = *machine;
  if (llvm::Error error = checkOutput(arguments))
    return error;
  auto progress = showProgress(arguments);
  llvm::Expected<LoweredModule> module = parseSpec(spec, arguments.input, options);
  if (!module)
    return module.takeError();
  if (llvm::Error error =
          lower(*module, options,
                emit == Emit::Tile ? CPUPipelinePhase::Tile : CPUPipelinePhase::LLVMDialect))
    return error;
  llvm::Error error = emit == Emit::Library ? emitSharedLibrary(*module, options, arguments.output,
                                                                stemOf(arguments.input))
                                            : emitText(*module, options, emit, arguments.output);
  if (error || !arguments.explain)
    return error;
  progress.reset();
  return explain(llvm::errs(), *module, spec, arguments.input, options);
}

static llvm::Error compileForGPU(const Arguments &arguments, llvm::StringRef spec, Emit emit) {
  llvm::Expected<GPUDescription> gpu = findGPU(arguments.target);
  if (!gpu)
    return gpu.takeError();
  if (llvm::Error error = checkOutput(arguments))
    return error;
  auto progress = showProgress(arguments);
  llvm::Expected<LoweredModule> module = parseForGPU(spec, arguments.input, arguments.what);
  if (!module)
    return module.takeError();
  if (llvm::Error error = lowerForGPU(
          *module, *gpu, emit == Emit::Tile ? GPUPipelinePhase::Tile : GPUPipelinePhase::Warp))
    return error;
  llvm::Error error = emitForGPU(*module, *gpu, emit, arguments.output, arguments.ptxas);
  if (error || !arguments.explain)
    return error;
  progress.reset();
  llvm::Expected<LoweredModule> scheduled = parseForGPU(spec, arguments.input, arguments.what);
  if (!scheduled)
    return scheduled.takeError();
  return explainForGPU(llvm::errs(), *module, *scheduled, *gpu);
}

static llvm::Error compile(const Arguments &arguments) {
  bool isGPU = isGPUName(arguments.target);
  llvm::Expected<Emit> emit = parseEmit(arguments.emit, arguments.target, isGPU);
  if (!emit)
    return emit.takeError();
  bool isDirectory = *emit == Emit::Library || *emit == Emit::Kernels;
  if (isDirectory && arguments.output == "-")
    return llvm::createStringError("-o: expected a directory, as several files are written, got -; "
                                   "--emit has kinds that are text");
  auto file = readSpecFileOrStandardInput(arguments.input);
  if (!file)
    return llvm::createStringError(arguments.input + ": " + llvm::toString(file.takeError()));
  return isGPU ? compileForGPU(arguments, (*file)->getBuffer(), *emit)
               : compileForCPU(arguments, (*file)->getBuffer(), *emit);
}

static void printHelp(llvm::raw_ostream &stream) {
  stream << "Compiles attentions of a spec.\n\nusage: polyattn-compile SPEC.mlir [options]   (- "
            "reads the spec from stdin)\n\n  polyattn-compile specs/linear.mlir --entry linear -o "
            "out\n";
  commandLine().printOptions(stream);
}

int polyattn::compileMain(int argc, char **argv) {
  driver::CommandLine line = commandLine();
  llvm::Error error = line.parse(llvm::ArrayRef(argv, argc).drop_front());
  if (!error && line.flag("help")) {
    printHelp(llvm::outs());
    return 0;
  }
  if (!error && line.flag("version")) {
    printVersion(llvm::outs());
    return 0;
  }
  llvm::Expected<Arguments> arguments = error ? std::move(error) : readArguments(line);
  error = arguments ? llvm::Error::success() : arguments.takeError();
  onLargeStack([&] {
    if (!error)
      error = compile(*arguments);
  });
  if (!error)
    return 0;
  bool isLocated = error.isA<SpecError>();
  llvm::errs() << (isLocated ? "" : "polyattn-compile: error: ") << llvm::toString(std::move(error))
               << '\n';
  return 1;
}

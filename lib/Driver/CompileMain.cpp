//===- CompileMain.cpp - polyattn-compile as a library --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/CompileMain.h"
#include "Emit.h"
#include "OutputFiles.h"
#include "ProgressLine.h"
#include "WrapWords.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "polyattn/Compiler/Version.h"
#include "polyattn/Driver/Explain.h"
#include "polyattn/Files/InputFile.h"
#include "polyattn/Target/CPU.h"
#include "polyattn/Target/NVPTX.h"
#include "polyattn/Tasks/Task.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"
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

/// What --help says of --target.
static std::string listMachines() {
  std::string text = "The machine (default: cpu): ";
  for (const MachineName &machine : namedMachines())
    text += (machine.name + " (" + machine.description + "), ").str();
  return text + "or a GPU: " + listGPUs();
}

namespace {
/// The command line, alive only while polyattn-compile runs.
struct Arguments {
  llvm::cl::OptionCategory what{"What to compile"};
  llvm::cl::OptionCategory result{"What to write"};
  llvm::cl::opt<std::string> input{llvm::cl::Positional, llvm::cl::desc("SPEC.mlir"),
                                   llvm::cl::cat(what)};
  llvm::cl::opt<std::string> entry{"entry", llvm::cl::desc("The attention (default: all of them)"),
                                   llvm::cl::value_desc("NAME"), llvm::cl::cat(what)};
  const std::string machines = listMachines();
  llvm::cl::opt<std::string> target{"target", llvm::cl::desc(machines), llvm::cl::init("cpu"),
                                    llvm::cl::value_desc("NAME"), llvm::cl::cat(what)};
  llvm::cl::opt<std::string> sizes{
      "sizes", llvm::cl::desc("Sizes of the entries, in place of those that the spec says"),
      llvm::cl::value_desc("d=64,m=1024"), llvm::cl::cat(what)};
  llvm::cl::opt<std::string> dtype{
      "dtype",
      llvm::cl::desc("Element type of the tensors: f32, bf16 or f16 (default: the spec's)"),
      llvm::cl::value_desc("TYPE"), llvm::cl::cat(what)};
  llvm::cl::alias storage{"storage", llvm::cl::desc("Older name of --dtype"),
                          llvm::cl::aliasopt(dtype), llvm::cl::cat(what)};
  llvm::cl::opt<bool> invariant{
      "invariant",
      llvm::cl::desc("A sequence's bits depend neither on its batch nor on threads, nor on the "
                     "blocks at which a prefill is split into calls"),
      llvm::cl::cat(what)};
  llvm::cl::opt<std::string> direction{
      "direction",
      llvm::cl::desc(
          "forward (the default), training (a pair, NAME__forward and NAME__backward), "
          "backward (of the pair, NAME__backward alone), decode (NAME__decode, which "
          "continues sequences in pools of states), states or gradient_states "
          "(NAME__states and NAME__gradient_states: what a segment of a sequence adds to "
          "the states after it, and to the gradients of those before it)"),
      llvm::cl::init("forward"), llvm::cl::value_desc("NAME"), llvm::cl::cat(what)};
  llvm::cl::list<std::string> wrt{
      "wrt", llvm::cl::desc("The arguments that get gradients (default: all)"),
      llvm::cl::CommaSeparated, llvm::cl::value_desc("NAME,..."), llvm::cl::cat(what)};
  llvm::cl::opt<bool> accumulate{
      "accumulate",
      llvm::cl::desc("Add gradients of weights and of heads' decays to the arguments sum_d_NAME, "
                     "in place"),
      llvm::cl::cat(what)};
  llvm::cl::opt<int64_t> stateEvery{
      "state-every",
      llvm::cl::desc("Save the state after each L positions, 1 to 1024, for a faster backward "
                     "pass"),
      llvm::cl::init(0), llvm::cl::value_desc("L"), llvm::cl::cat(what)};
  llvm::cl::opt<bool> packed{
      "packed",
      llvm::cl::desc("Concatenated sequences in one batch, with their offsets as one more "
                     "argument, cu_seqlens"),
      llvm::cl::cat(what)};
  llvm::cl::opt<bool> optimizeIR{"optimize-ir",
                                 llvm::cl::desc("Run LLVM's -O2 pipeline before code generation"),
                                 llvm::cl::cat(what)};
  llvm::cl::opt<std::string> output{
      "o", llvm::cl::desc("A file, - for standard output; for --emit lib and kernels a directory"),
      llvm::cl::value_desc("OUT"), llvm::cl::cat(result)};
  llvm::cl::opt<std::string> emit{
      "emit",
      llvm::cl::desc("For processors: lib (a shared library, its C header and a JSON description, "
                     "the default), obj, asm, llvm (LLVM IR) or tile (tile kernels). For GPUs: "
                     "kernels (NAME.ptx, NAME.cubin and NAME.json of each kernel, the default), "
                     "ptx, cubin, json, llvm, warp (programs of a thread) or tile"),
      llvm::cl::value_desc("KIND"), llvm::cl::cat(result)};
  llvm::cl::opt<std::string> ptxas{
      "ptxas", llvm::cl::desc("NVIDIA's assembler (default: in CUDA_HOME or PATH)"),
      llvm::cl::value_desc("PROGRAM"), llvm::cl::cat(result)};
  llvm::cl::opt<bool> explain{
      "explain", llvm::cl::desc("Say on standard error what was decided, and at what costs"),
      llvm::cl::cat(result)};
};
} // namespace

/// What a library is called: as the spec's file.
static llvm::StringRef stemOf(llvm::StringRef input) {
  return input == "-" ? "kernels" : llvm::sys::path::stem(input);
}

static llvm::Expected<SpecOptions> specOptionsOf(const Arguments &arguments) {
  std::optional<CallDirection> direction = parseDirection(arguments.direction);
  if (!direction)
    return llvm::createStringError("unknown --direction '" + arguments.direction + "', expected " +
                                   kDirectionNames);
  bool keepsStates = arguments.stateEvery.getNumOccurrences() != 0;
  if (keepsStates && (arguments.stateEvery < 1 || arguments.stateEvery > BlockStates::kMaxLength))
    return llvm::createStringError("--state-every: expected 1 to " +
                                   llvm::Twine(BlockStates::kMaxLength) + " positions, got " +
                                   llvm::Twine(int64_t(arguments.stateEvery)));
  for (auto [flag, isGiven] : {std::pair("--wrt", !arguments.wrt.empty()),
                               {"--accumulate", bool(arguments.accumulate)},
                               {"--state-every", keepsStates}})
    if (isGiven && !isAboutGradients(*direction))
      return llvm::createStringError(llvm::Twine(flag) +
                                     ": expected --direction training or backward with it");
  if (arguments.dtype.getNumOccurrences() > 1) // Its older name counts.
    return llvm::createStringError("--dtype is given twice");
  llvm::Expected<SpecSizes> sizes = parseSpecSizes(arguments.sizes);
  if (!sizes)
    return llvm::createStringError("--sizes: " + llvm::toString(sizes.takeError()));
  return SpecOptions{
      arguments.entry,
      arguments.dtype,
      arguments.invariant,
      {*direction,
       /*pair=*/true,
       {{arguments.wrt.begin(), arguments.wrt.end()}, arguments.accumulate, arguments.stateEvery}},
      arguments.packed,
      std::move(sizes->values)};
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

static llvm::Error compileForCPU(const Arguments &arguments, const SpecOptions &what,
                                 llvm::StringRef spec, Emit emit) {
  CompileOptions options;
  static_cast<SpecOptions &>(options) = what;
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

static llvm::Error compileForGPU(const Arguments &arguments, const SpecOptions &what,
                                 llvm::StringRef spec, Emit emit) {
  llvm::Expected<GPUDescription> gpu = findGPU(arguments.target);
  if (!gpu)
    return gpu.takeError();
  if (llvm::Error error = checkOutput(arguments))
    return error;
  auto progress = showProgress(arguments);
  llvm::Expected<LoweredModule> module = parseForGPU(spec, arguments.input, what);
  if (!module)
    return module.takeError();
  if (llvm::Error error = lowerForGPU(
          *module, *gpu, emit == Emit::Tile ? GPUPipelinePhase::Tile : GPUPipelinePhase::Warp))
    return error;
  llvm::Error error = emitForGPU(*module, *gpu, emit, arguments.output, arguments.ptxas);
  if (error || !arguments.explain)
    return error;
  progress.reset();
  llvm::Expected<LoweredModule> scheduled = parseForGPU(spec, arguments.input, what);
  if (!scheduled)
    return scheduled.takeError();
  return explainForGPU(llvm::errs(), *module, *scheduled, *gpu);
}

static llvm::Error compile(const Arguments &arguments) {
  if (arguments.input.empty())
    return llvm::createStringError("expected a spec, as in polyattn-compile specs/linear.mlir "
                                   "--entry linear -o out");
  bool isGPU = isGPUName(arguments.target);
  llvm::Expected<Emit> emit = parseEmit(arguments.emit, arguments.target, isGPU);
  if (!emit)
    return emit.takeError();
  llvm::Expected<SpecOptions> what = specOptionsOf(arguments);
  if (!what)
    return what.takeError();
  bool isDirectory = *emit == Emit::Library || *emit == Emit::Kernels;
  if (isDirectory && arguments.output == "-")
    return llvm::createStringError("-o: expected a directory, as several files are written, got -; "
                                   "--emit has kinds that are text");
  auto file = readSpecFileOrStandardInput(arguments.input);
  if (!file)
    return llvm::createStringError(arguments.input + ": " + llvm::toString(file.takeError()));
  return isGPU ? compileForGPU(arguments, *what, (*file)->getBuffer(), *emit)
               : compileForCPU(arguments, *what, (*file)->getBuffer(), *emit);
}

/// LLVM prints a description as it is, from the column behind the longest option on.
static void wrapDescriptions(const Arguments &arguments, llvm::StringSaver &saver) {
  constexpr size_t column = 26;
  for (auto [name, option] : llvm::cl::getRegisteredOptions())
    for (const llvm::cl::OptionCategory *category : option->Categories)
      if (category == &arguments.what || category == &arguments.result)
        option->setDescription(saver.save(wrapWords(option->HelpStr, column)));
}

int polyattn::compileMain(int argc, char **argv) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  Arguments arguments;
  llvm::cl::SetVersionPrinter(printVersion);
  llvm::cl::HideUnrelatedOptions({&arguments.what, &arguments.result});
  wrapDescriptions(arguments, saver);
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
  llvm::Error error = llvm::Error::success();
  onLargeStack([&] {
    if (!error)
      error = compile(arguments);
  });
  if (!error)
    return 0;
  bool isLocated = error.isA<SpecError>();
  llvm::errs() << (isLocated ? "" : "polyattn-compile: error: ") << llvm::toString(std::move(error))
               << '\n';
  return 1;
}

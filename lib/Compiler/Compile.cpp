//===- Compile.cpp - from a spec's text to machine code -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Compiler/Compile.h"
#include "Describe.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Action.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Launch/FromModule.h"
#include "polyattn/Pipelines/Registration.h"
#include "polyattn/Schedule/Invariant.h"
#include "polyattn/Spec/ParseSpec.h"
#include "polyattn/Tasks/Cancelled.h"
#include "polyattn/Transforms/NoGradient.h"
#include "polyattn/Transforms/PackSequences.h"
#include "polyattn/Transforms/SetDType.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace polyattn;

char SpecError::ID;
char NoGradientError::ID;

namespace {
/// Collects errors and their notes as text, "file:line:column: error: ..." per line.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            add("error", diagnostic);
          noGradient |= saysNoGradient(diagnostic);
          return mlir::success();
        }) {}

  llvm::Error take(llvm::StringRef fallback) {
    if (text.empty())
      return llvm::createStringError(fallback);
    return noGradient ? llvm::make_error<NoGradientError>(std::move(text))
                      : llvm::make_error<SpecError>(std::move(text));
  }

private:
  void add(llvm::StringRef severity, mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(text);
    if (!text.empty())
      stream << '\n';
    if (auto location = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
      stream << location.getFilename().getValue() << ':' << location.getLine() << ':'
             << location.getColumn() << ": ";
    stream << severity << ": " << diagnostic;
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      add("note", note);
  }
  std::string text;
  bool noGradient = false;
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace

/// Keeps the entry that was asked for and says which there are where it is not one of them.
static llvm::Error chooseEntries(mlir::ModuleOp module, llvm::StringRef fileName,
                                 llvm::StringRef entry) {
  llvm::SmallVector<AttentionOp> others;
  std::string names;
  bool found = false;
  for (AttentionOp attention : module.getOps<AttentionOp>()) {
    names += (names.empty() ? "" : ", ") + attention.getSymName().str();
    if (entry.empty() || attention.getSymName() == entry)
      found = true;
    else
      others.push_back(attention);
  }
  if (!found && names.empty())
    return llvm::createStringError(fileName + ": no polyattn.attention, nothing to compile");
  if (!found)
    return llvm::createStringError(fileName + ": no entry '" + entry + "', expected one of " +
                                   names + didYouMean(entry, names));
  for (AttentionOp attention : others)
    attention.erase();
  return llvm::Error::success();
}

/// A context that can lower, where only what lowers needs the dialects.
static std::unique_ptr<mlir::MLIRContext> makeContext() {
  // Threads would take longer to start than a spec takes to compile.
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  // A spec's author has the line; the operation's generic form says no more.
  context->printOpOnDiagnostic(false);
  // Passes, and the patterns that they apply, are left out once the work has been cancelled.
  context->registerActionHandler(
      [](llvm::function_ref<void()> apply, const mlir::tracing::Action &) {
        if (!isCancelled())
          apply();
      });
  return context;
}

static void appendDialects(mlir::MLIRContext &context) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
}

llvm::Expected<LoweredModule> polyattn::parseModule(llvm::StringRef text, llvm::StringRef fileName,
                                                    const SpecOptions &options) {
  LoweredModule result;
  result.context = makeContext();
  Diagnostics diagnostics(result.context.get());
  // A copy: MLIR's lexer looks for the zero behind the text, which a caller's need not have.
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, fileName), llvm::SMLoc());
  result.module = parseSpecSource(sources, *result.context, {options.sizes, options.entry});
  if (!result.module)
    return diagnostics.take("the spec could not be parsed");
  appendDialects(*result.context);
  if (!options.dtype.empty())
    if (llvm::Error error = setDType(*result.module, options.dtype))
      return std::move(error);
  if (options.invariant)
    setInvariant(*result.module);
  if (options.packed && mlir::failed(packSequences(*result.module)))
    return diagnostics.take("the spec could not be packed");
  return std::move(result);
}

llvm::Expected<LoweredModule> polyattn::parseKernels(llvm::StringRef text,
                                                     llvm::StringRef fileName) {
  LoweredModule result;
  result.context = makeContext();
  appendDialects(*result.context);
  Diagnostics diagnostics(result.context.get());
  std::string terminated = text.str();
  result.module = mlir::parseSourceString<mlir::ModuleOp>(
      terminated, mlir::ParserConfig(result.context.get()), fileName);
  if (!result.module)
    return diagnostics.take("the kernels could not be parsed");
  for (AttentionOp attention : result.module->getOps<AttentionOp>()) {
    attention.emitError("a file has attentions or kernels of GPUs, not both");
    return diagnostics.take("");
  }
  return std::move(result);
}

llvm::Error polyattn::describeEntries(LoweredModule &module, llvm::StringRef fileName,
                                      const SpecOptions &options) {
  Diagnostics diagnostics(module.context.get());
  if (llvm::Error error = chooseEntries(*module.module, fileName, options.entry))
    return error;
  auto entries = makeEntries(*module.module, options.direction);
  if (!entries)
    return entries.takeError();
  for (const Entry &entry : *entries)
    module.kernels.push_back(describeEntry(entry));
  return llvm::Error::success();
}

llvm::Expected<LoweredModule> polyattn::parseSpec(llvm::StringRef text, llvm::StringRef fileName,
                                                  const SpecOptions &options) {
  llvm::Expected<LoweredModule> module = parseModule(text, fileName, options);
  if (!module)
    return module.takeError();
  if (llvm::Error error = describeEntries(*module, fileName, options))
    return std::move(error);
  return std::move(*module);
}

llvm::Error polyattn::expectedOneEntry(llvm::StringRef fileName,
                                       llvm::ArrayRef<KernelDescription> kernels) {
  std::string names;
  for (const KernelDescription &kernel : kernels)
    names += (names.empty() ? "" : ", ") + kernel.entry;
  return llvm::createStringError(fileName + ": expected the name of an entry, one of " + names);
}

llvm::Error polyattn::runPipeline(mlir::ModuleOp module, llvm::StringRef name,
                                  llvm::function_ref<void(mlir::OpPassManager &)> build) {
  Diagnostics diagnostics(module.getContext());
  mlir::PassManager passes(module.getContext());
#ifdef NDEBUG
  // Once at the end instead of after every pass: it costs compile time.
  passes.enableVerifier(false);
#endif
  build(passes);
  bool succeeded = mlir::succeeded(passes.run(module));
  if (isCancelled())
    return llvm::make_error<CancelledError>();
  if (!succeeded || mlir::failed(mlir::verify(module)))
    return diagnostics.take(("the " + name + " failed").str());
  return llvm::Error::success();
}

llvm::Error polyattn::lower(LoweredModule &module, const CompileOptions &options,
                            CPUPipelinePhase stopAfter) {
  return runPipeline(*module.module, "CPU pipeline", [&](mlir::OpPassManager &passes) {
    buildCPUPipeline(passes, {options.machine, stopAfter});
  });
}

/// void(ptr tensors, i64 begin, i64 end, ptr scratch).
static bool hasKernelSignature(mlir::LLVM::LLVMFuncOp function) {
  mlir::LLVM::LLVMFunctionType type = function.getFunctionType();
  auto isPointer = [](mlir::Type type) { return llvm::isa<mlir::LLVM::LLVMPointerType>(type); };
  return llvm::isa<mlir::LLVM::LLVMVoidType>(type.getReturnType()) && !type.isVarArg() &&
         type.getNumParams() == 4 && isPointer(type.getParamType(0)) &&
         type.getParamType(1).isInteger(64) && type.getParamType(2).isInteger(64) &&
         isPointer(type.getParamType(3));
}

llvm::Error polyattn::completeDescriptions(LoweredModule &module, const CompileOptions &options) {
  for (KernelDescription &kernel : module.kernels) {
    kernel.target = options.machine.name;
    kernel.cpuLevel = options.machine.level;
    kernel.cpuFeatures = options.machine.needed;
    llvm::Expected<LaunchPlan> plan = planOf(*module.module, kernel.entry);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      return llvm::createStringError("@" + kernel.entry +
                                     ": the CPU pipeline does not lower this entry yet");
    }
    if (llvm::Error error = plan->verify(kernel.ranks()))
      return error;
    kernel.plan = std::move(*plan);
    for (LaunchStage &stage : kernel.plan.stages) {
      auto function = module.module->lookupSymbol<mlir::LLVM::LLVMFuncOp>(stage.function);
      if (!function || function.isExternal())
        return llvm::createStringError("@" + kernel.entry +
                                       ": the CPU pipeline does not lower this entry yet");
      auto scratch = function->getAttrOfType<mlir::IntegerAttr>(tile::kScratchBytesAttrName);
      if (!hasKernelSignature(function) || (scratch && scratch.getInt() < 0))
        return llvm::createStringError("@" + kernel.entry + ": the lowered function @" +
                                       stage.function + " is not one that the runtime can call");
      stage.scratchBytes = scratch ? scratch.getInt() : 0;
    }
  }
  return llvm::Error::success();
}

llvm::Error
polyattn::withLLVMIR(LoweredModule &module, const CompileOptions &options,
                     llvm::function_ref<llvm::Error(llvm::Module &, llvm::TargetMachine &)> use) {
  if (llvm::Error error = completeDescriptions(module, options))
    return error;
  auto target = createTargetMachine(options.machine, options.codegen);
  if (!target)
    return target.takeError();
  Diagnostics diagnostics(module.context.get());
  llvm::LLVMContext context;
  // LLVM IR does not say how functions are launched.
  auto entries = llvm::to_vector((*module.module).getOps<tile::EntryOp>());
  for (tile::EntryOp entry : entries)
    entry->remove();
  auto translated = translateToLLVMIR(*module.module, context, **target);
  for (tile::EntryOp entry : entries)
    module.module->push_back(entry);
  if (!translated) {
    llvm::consumeError(translated.takeError());
    return diagnostics.take("the LLVM dialect could not be translated to LLVM IR");
  }
  return use(**translated, **target);
}

std::vector<KernelDescription>
polyattn::withKernelSymbols(llvm::ArrayRef<KernelDescription> kernels) {
  std::vector<KernelDescription> result(kernels);
  for (KernelDescription &kernel : result)
    for (LaunchStage &stage : kernel.plan.stages)
      stage.function = kernelSymbol(stage.function);
  return result;
}

llvm::Expected<CompiledObject> polyattn::compileLowered(LoweredModule &module,
                                                        const CompileOptions &options) {
  CompiledObject result;
  llvm::Error error =
      withLLVMIR(module, options, [&](llvm::Module &code, llvm::TargetMachine &target) {
        useKernelSymbols(code);
        return generateCode(code, target, CodeFile::Object, options.codegen)
            .moveInto(result.object);
      });
  if (error)
    return std::move(error);
  result.kernels = withKernelSymbols(module.kernels);
  return std::move(result);
}

llvm::Expected<CompiledObject> polyattn::compileSpec(llvm::StringRef text, llvm::StringRef fileName,
                                                     const CompileOptions &options) {
  llvm::Expected<LoweredModule> module = parseSpec(text, fileName, options);
  if (!module)
    return module.takeError();
  if (llvm::Error error = lower(*module, options))
    return std::move(error);
  return compileLowered(*module, options);
}

//===- Compile.h - from a spec's text to machine code -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_COMPILER_COMPILE_H
#define POLYATTN_COMPILER_COMPILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "polyattn/Kernel/KernelDescription.h"
#include "polyattn/Pipelines/CPU.h"
#include "polyattn/Pipelines/Direction.h"
#include "polyattn/Target/CPU.h"
#include <map>
#include <memory>

namespace polyattn {

/// Located diagnostics of a spec, "file:line:column: error: ..." per line.
class SpecError : public llvm::ErrorInfo<SpecError> {
public:
  static char ID;
  explicit SpecError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string text;
};

/// One of a spec that would be right, had it a result that depends on what it is differentiated by.
class NoGradientError : public llvm::ErrorInfo<NoGradientError, SpecError> {
public:
  static char ID;
  using llvm::ErrorInfo<NoGradientError, SpecError>::ErrorInfo;
};

/// What is compiled of a spec, for any target. Every field belongs into the key of a cached kernel.
struct SpecOptions {
  /// The attention to compile; empty for all of the spec's.
  std::string entry = {};
  /// The element type of tensors, f32, bf16 or f16; the spec's where empty.
  std::string dtype = {};
  /// Whether a sequence's bits depend on nothing but the sequence (polyattn/Schedule/Invariant.h).
  bool invariant = false;
  DirectionOptions direction = {};
  /// Whether calls have packed sequences, with their offsets as one more argument.
  bool packed = false;
  /// Sizes of the entry, or of all, in place of those of the spec's text; for the short form.
  std::map<std::string, int64_t> sizes = {};
};

/// What decides the code of a spec. Every field belongs into the key of a cached kernel.
struct CompileOptions : SpecOptions {
  MachineDescription machine;
  CodegenOptions codegen;
};

/// A module and the context it lives in, one thread of MLIR.
struct LoweredModule {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// One per entry, in the spec's order.
  std::vector<KernelDescription> kernels;
};

/// Parses and verifies a spec, with the tensors, the bits and the sequences that the options ask
/// for. An error carries the located diagnostics.
llvm::Expected<LoweredModule> parseModule(llvm::StringRef text, llvm::StringRef fileName,
                                          const SpecOptions &options);

/// Parses a program of `gpu.module`s instead of a spec. Its ops may be of any dialect: its author
/// is trusted.
llvm::Expected<LoweredModule> parseKernels(llvm::StringRef text, llvm::StringRef fileName);

/// Keeps the attention that was asked for, or all, as the entries of the direction, and describes
/// them.
llvm::Error describeEntries(LoweredModule &module, llvm::StringRef fileName,
                            const SpecOptions &options);

/// Parses and verifies a spec and keeps the entries that the options say. An error carries the
/// located diagnostics.
llvm::Expected<LoweredModule> parseSpec(llvm::StringRef text, llvm::StringRef fileName,
                                        const SpecOptions &options);

/// What a caller who compiles one entry is told where it has not said which.
llvm::Error expectedOneEntry(llvm::StringRef fileName, llvm::ArrayRef<KernelDescription> kernels);

/// Runs the passes that `build` adds and verifies what they leave. An error carries the located
/// diagnostics, or says that `name` failed; it is a CancelledError where the task of this thread
/// has been cancelled.
llvm::Error runPipeline(mlir::ModuleOp module, llvm::StringRef name,
                        llvm::function_ref<void(mlir::OpPassManager &)> build);

/// Runs the CPU pipeline, up to `stopAfter`.
llvm::Error lower(LoweredModule &module, const CompileOptions &options,
                  CPUPipelinePhase stopAfter = CPUPipelinePhase::LLVMDialect);

/// Completes the descriptions from the functions of the LLVM dialect (scratch) and checks that
/// these have the signature that the runtime calls.
llvm::Error completeDescriptions(LoweredModule &module, const CompileOptions &options);

/// An object of one or more entries.
struct CompiledObject {
  std::vector<KernelDescription> kernels;
  llvm::SmallVector<char, 0> object;
};

/// From a module in the LLVM dialect to LLVM IR: completes the descriptions, translates, and hands
/// the result to `use` with the machine that it is for.
llvm::Error withLLVMIR(LoweredModule &module, const CompileOptions &options,
                       llvm::function_ref<llvm::Error(llvm::Module &, llvm::TargetMachine &)> use);

/// The descriptions of kernels whose functions have the symbols of code that only we link
/// (useKernelSymbols).
std::vector<KernelDescription> withKernelSymbols(llvm::ArrayRef<KernelDescription> kernels);

/// From a module in the LLVM dialect; tests start here.
llvm::Expected<CompiledObject> compileLowered(LoweredModule &module, const CompileOptions &options);

/// All of the way.
llvm::Expected<CompiledObject> compileSpec(llvm::StringRef text, llvm::StringRef fileName,
                                           const CompileOptions &options);

} // namespace polyattn

#endif // POLYATTN_COMPILER_COMPILE_H

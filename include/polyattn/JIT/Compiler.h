//===- Compiler.h - a spec to a kernel that can be called -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_JIT_COMPILER_H
#define POLYATTN_JIT_COMPILER_H

#include "polyattn/Compiler/Compile.h"
#include "polyattn/JIT/CompiledKernel.h"
#include "polyattn/Tasks/Task.h"

namespace polyattn {

/// How to compile a kernel that runs in this process.
struct JITOptions {
  /// The entry; may be empty where the spec has one only.
  std::string entry;
  /// A name that findMachine knows, of this process's architecture.
  std::string target = "native";
  /// The element type of tensors, f32, bf16 or f16; the spec's where empty.
  std::string dtype;
  /// Whether a sequence's bits depend on nothing but the sequence (polyattn/Schedule/Invariant.h).
  bool invariant = false;
  /// What calls compute: results, results and what gradients need, gradients, or results and states
  /// that go on where they live.
  CallDirection direction = CallDirection::Forward;
  /// Which gradients a backward call gives, and how.
  GradientOptions gradients;
  /// Whether calls have packed sequences, with their offsets as one more argument.
  bool packed = false;
  /// Sizes of the entry in place of those of the spec's text; for the short form.
  std::map<std::string, int64_t> sizes;
  /// How LLVM makes code of the kernel.
  CodegenOptions codegen;
  /// Where compiled kernels are kept; the user's folder by default, nowhere where empty.
  std::optional<std::string> cacheDirectory;
  /// Whether the caller has cancelled the compilation, which then ends with a CancelledError.
  CancelledByCaller cancelled;
};

/// What the options say of the spec, whatever it is compiled for.
SpecOptions specOptionsOf(const JITOptions &options);

/// Turns the options into those of a compilation whose code need not run in this process; `target`
/// is a name that findMachine knows, of any architecture.
llvm::Expected<CompileOptions> compileOptionsOf(const JITOptions &options);

/// Compiles one entry of a spec, or takes it from the cache: then nothing is parsed.
llvm::Expected<std::unique_ptr<CompiledKernel>>
compileKernel(llvm::StringRef text, llvm::StringRef fileName, const JITOptions &options = {});

/// The two kernels of one attention: what `forward` gives beside the results, `backward` takes.
struct TrainingKernel {
  /// The results, and what the other kernel needs.
  std::unique_ptr<CompiledKernel> forward;
  /// The gradients.
  std::unique_ptr<CompiledKernel> backward;
};

/// Compiles both entries of a training pair, or takes them from the cache; `direction` of the
/// options does not count.
llvm::Expected<TrainingKernel> compileTraining(llvm::StringRef text, llvm::StringRef fileName,
                                               const JITOptions &options = {});

/// Compiles one entry of a spec in a file as `compileKernel` does.
llvm::Expected<std::unique_ptr<CompiledKernel>>
compileKernelFromFile(llvm::StringRef path, const JITOptions &options = {});

} // namespace polyattn

#endif // POLYATTN_JIT_COMPILER_H

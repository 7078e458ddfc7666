//===- EmulatedKernel.h - GPU kernels on the host ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_EMULATOR_EMULATEDKERNEL_H
#define POLYATTN_EMULATOR_EMULATEDKERNEL_H

#include "mlir/IR/BuiltinOps.h"
#include "polyattn/Target/Launch.h"
#include "runtime/emulator/Counters.h"
#include "runtime/emulator/Findings.h"
#include <algorithm>
#include <memory>

namespace polyattn {

/// A tensor of a launch, and what a kernel may do with it.
struct EmulatedTensor {
  LaunchTensor view;
  int64_t elementBytes;
  bool isResult;
  /// A result that has numbers before, which the kernel may read: it lives in an argument.
  bool isUpdated = false;
};

/// What a launch is described by.
std::vector<LaunchTensor> viewsOf(llvm::ArrayRef<EmulatedTensor> tensors);

struct EmulatorOptions {
  /// Whose clocks are counted.
  std::string chip = "sm_80";
  /// Programs that run at a time; 0 for one on each processor of the host.
  unsigned threads = 0;
  /// Into how many segments positions are cut, for entries that do so.
  int64_t segments = 1;
  /// The programs of a kernel that is run alone; none for what its `warp.programs` says.
  std::optional<int64_t> programs;
  /// Accesses of one thread between two meetings with others, after which it is stuck.
  uint64_t accessLimit = uint64_t(1) << 28;
  /// Runs all programs, although one has findings: for who wants to see the results, too.
  bool keepGoing = false;
};

/// An op of a kernel: its name and "file:line:column".
struct EmulatedSite {
  std::string op, place;
};

/// What a launch did where all is well.
struct EmulatorReport {
  int64_t programs = 0;
  /// CTAs of a program, each on a multiprocessor of its own.
  int64_t cluster = 1;
  emulator::Chip chip;
  emulator::Counters counters;
  /// The ops, by the indices that counters.sites has.
  std::vector<EmulatedSite> sites;

  /// The clocks that counters have summed over all CTAs, for a program.
  double perProgram(double clocks) const {
    return clocks / double(std::max<int64_t>(programs * cluster, 1));
  }
  /// Lines of `name: number`, for each program.
  void print(llvm::raw_ostream &stream) const;
  /// A text whose lines are the locations of the kernel's ops, with what these cost before each
  /// line: products, wavefronts of shared memory and sectors of global memory, for each program.
  void printProfile(llvm::StringRef text, llvm::StringRef fileName,
                    llvm::raw_ostream &stream) const;
};

/// A finding and its text: where, what, who and with whom.
struct EmulatorProblem {
  emulator::Finding finding;
  std::string message;
};

/// A launch that the emulator found problems in.
class EmulatorError : public llvm::ErrorInfo<EmulatorError> {
public:
  static char ID;
  explicit EmulatorError(std::vector<EmulatorProblem> problems) : problems(std::move(problems)) {}
  llvm::ArrayRef<EmulatorProblem> getProblems() const { return problems; }
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::vector<EmulatorProblem> problems;
};

/// A kernel of the warp dialect as code for this processor that runs under the emulator's eyes.
class EmulatedKernel {
public:
  /// Compiles the `gpu.func` of this name; the module stays as it is.
  static llvm::Expected<std::unique_ptr<EmulatedKernel>> compile(mlir::ModuleOp module,
                                                                 llvm::StringRef name);
  ~EmulatedKernel();

  const LaunchDescription &getLaunch() const;
  /// Whether the kernel has a store to a tensor or workspace, by its place in `run`.
  bool writes(size_t tensor) const;

  /// Runs all programs on these tensors, arguments and then results, then workspaces. An error is
  /// an EmulatorError, or says what about the launch cannot be.
  llvm::Expected<EmulatorReport> run(llvm::ArrayRef<EmulatedTensor> tensors,
                                     const EmulatorOptions &options = {}) const;

private:
  struct Code;
  explicit EmulatedKernel(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};

} // namespace polyattn

#endif // POLYATTN_EMULATOR_EMULATEDKERNEL_H

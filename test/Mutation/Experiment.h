//===- Experiment.h - what becomes of a kernel's mutants --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_MUTATION_EXPERIMENT_H
#define POLYATTN_TEST_MUTATION_EXPERIMENT_H

#include "Mutants.h"
#include "lib/Driver/Check.h"
#include "polyattn/Compiler/CompileGPU.h"
#include "polyattn/Emulator/EmulatedEntry.h"

namespace polyattn::mutation {

/// Sizes and values of a call's tensors.
struct InputShape {
  std::vector<driver::RandomSize> sizes;
  /// Rows begin at odd addresses, which keeps kernels from wide accesses.
  bool odd = false;
  /// Factors of the random weights, queries and keys. Where scores are nearly alike, results are
  /// means that a part of the mistakes does not move; factors make them differ.
  double weights = 1, activations = 1;
  std::string text;
};

struct Options {
  std::string spec, entry, storage;
  /// Which kernel of the entry: what its name has behind the entry's. The main one if empty.
  std::string stage;
  std::string chip = "sm_80";
  std::vector<InputShape> inputs;
  /// Where the schedule leaves it to the length: the positions from which on there is a state.
  std::optional<int64_t> stateFrom;
  /// As of polyattn-run --check, and its default.
  std::optional<double> tolerance;
  /// Where the kernel's text goes; nowhere if empty.
  std::string kernelFile;
};

/// What one mutant did, on the input that caught it or on all.
struct Verdict {
  /// Not reached: the op is not executed on any of the inputs. Same: it is, and the change is none.
  /// Crashed: the emulator did not survive it, or it took too long.
  enum Kind { NotReached, Same, Ran, Crashed };
  Kind kind = NotReached;
  /// What has caught it.
  bool byChecker = false, byNumbers = false;
  /// Where nothing has: whether the results are the unmutated kernel's to the bit, and the error.
  bool identical = true;
  double error = 0;
  char message[400] = "";

  bool isCaught() const { return kind == Ran && (byChecker || byNumbers); }
};

class Experiment {
public:
  /// Compiles the kernel and runs it unmutated on all inputs, where it must be right.
  static llvm::Expected<std::unique_ptr<Experiment>> prepare(const Options &options);

  const std::string &getName() const { return signature->name; }
  llvm::ArrayRef<Mutant> getMutants() const { return mutated.mutants; }
  /// The relative error that is allowed.
  double getTolerance() const { return allowed; }
  /// The verdicts of these mutants, each in a process of its own, `jobs` at a time.
  std::vector<Verdict> judge(llvm::ArrayRef<int> numbers, unsigned jobs);

private:
  struct Input {
    InputShape shape;
    driver::Inputs tensors;
    driver::Expectation expected;
    std::vector<HostTensor> results;
    /// The results' bytes of the unmutated kernel.
    std::vector<std::string> bytes;
    std::vector<uint8_t> seen;
  };
  llvm::Error compile(const Options &options);
  llvm::Error addInput(const InputShape &shape);
  llvm::Error runOn(const Input &input);
  /// Runs a mutant until something catches it.
  Verdict run(int number);

  std::optional<LoweredModule> spec, lowered;
  std::optional<double> tolerance;
  double allowed = 0;
  std::optional<Signature> signature;
  MutatedKernel mutated;
  std::unique_ptr<EmulatedEntry> kernel;
  std::vector<Input> inputs;
};

} // namespace polyattn::mutation

#endif // POLYATTN_TEST_MUTATION_EXPERIMENT_H

//===- Mutants.h - a kernel with its mutants inside -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All mutants of a kernel are compiled at once: each is a switch in the kernel, and at most one
// of them is on while it runs.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_MUTATION_MUTANTS_H
#define POLYATTN_TEST_MUTATION_MUTANTS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <memory>
#include <string>
#include <vector>

namespace polyattn::mutation {

struct Mutant {
  /// What is done to the op, and the op's name.
  std::string change, op;
  /// The line of the kernel, and the place in the spec that it comes from.
  unsigned line = 0;
  std::string origin;
};

/// Read and written by the kernel while it runs, so it stays where it is.
struct Switches {
  static constexpr int32_t kNone = -1;
  /// Reached: the op was executed. Differs: on these inputs the change is one.
  enum Seen : uint8_t { kReached = 1, kDiffers = 2 };

  int32_t chosen = kNone;
  std::vector<uint8_t> seen;
};

struct MutatedKernel {
  std::vector<Mutant> mutants;
  std::unique_ptr<Switches> switches;
};

/// Puts the mutants of a kernel into it. The locations of its ops become lines of its own text,
/// in a file that is called `name`; the text goes to `stream`.
MutatedKernel plantMutants(mlir::gpu::GPUFuncOp kernel, llvm::StringRef name,
                           llvm::raw_ostream &stream);

} // namespace polyattn::mutation

#endif // POLYATTN_TEST_MUTATION_MUTANTS_H

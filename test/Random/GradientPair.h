//===- GradientPair.h - gradients as the oracle evaluates them --*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_GRADIENTPAIR_H
#define POLYATTN_TEST_RANDOM_GRADIENTPAIR_H

#include "lib/Driver/Conditioning.h"
#include "mlir/IR/OwningOpRef.h"
#include "polyattn/Compiler/ChosenEntry.h"
#include "polyattn/Reference/Evaluate.h"

namespace polyattn::random {

/// The two entries that differentiation makes of an attention: the forward one, and that of the
/// gradients, which takes what the former has saved. The oracle evaluates them in any arithmetic,
/// so that they say how well gradients are determined. Its own gradients, which know nothing of
/// these entries, say whether they are right (lib/Driver/Gradients.h).
class GradientPair {
public:
  static llvm::Expected<GradientPair> make(AttentionOp definition, const GradientOptions &options);

  /// That of the gradients. The definition's arguments are its first ones.
  const Signature &getSignature() const { return backward.signature; }

  /// Whether running states of features can be asked, within that budget.
  bool hasRecurrentReadingWithin(const CallSizes &sizes, driver::EvaluationBudget budget) const;

  /// All gradients, for the arguments of the backward entry. What is saved is computed, and not
  /// looked at in `arguments`.
  mlir::FailureOr<std::vector<Array>> evaluate(std::vector<Array> arguments, const CallSizes &sizes,
                                               Reading reading, const Rounding &vectors,
                                               const Rounding &terms) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> forwardModule, backwardModule;
  Entry forward, backward;
};

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_GRADIENTPAIR_H

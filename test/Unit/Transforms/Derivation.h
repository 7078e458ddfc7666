//===- Derivation.h - derived gradients against the oracle's ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_TRANSFORMS_DERIVATION_H
#define POLYATTN_TEST_UNIT_TRANSFORMS_DERIVATION_H

#include "../Reference/GradientChecks.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Transforms/Passes.h"

namespace polyattn {

inline std::string nameOf(mlir::ArrayAttr names, size_t index) {
  return llvm::cast<mlir::StringAttr>(names[index]).getValue().str();
}

inline double relativeError(const Array &a, const Array &b) {
  Array difference = a;
  for (size_t i = 0; i < a.data.size(); ++i)
    difference.data[i] -= b.data.at(i);
  double error = normOf(difference);
  return error == 0 ? 0 : error / std::max(normOf(b), 1e-150);
}

/// An attention as it was written, and its two directions as passes derive them.
class Derivation {
public:
  Derivation() { context.loadDialect<PolyAttnDialect>(); }

  bool parse(llvm::StringRef text) {
    spec = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return bool(spec);
  }
  bool parseFile(const std::string &path) {
    spec = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
    return bool(spec);
  }
  llvm::SmallVector<AttentionOp> attentions() {
    return llvm::to_vector(spec->getOps<AttentionOp>());
  }

  /// Derives both directions of one attention; others are left out, as what cannot be
  /// differentiated is an error of all.
  bool differentiate(AttentionOp attention, bool simplify) {
    name = attention.getSymName().str();
    derived = spec->clone();
    for (auto other : llvm::make_early_inc_range(derived->getOps<AttentionOp>()))
      if (other.getSymName() != name)
        other.erase();
    mlir::PassManager passes(&context);
    passes.addPass(createInlineMaps());
    if (simplify)
      passes.addPass(createSimplifyFeatures());
    passes.addPass(createDifferentiate());
    return succeeded(passes.run(*derived));
  }
  /// The gradients of attends as attends.
  bool expand() {
    mlir::PassManager passes(&context);
    passes.addPass(createExpandBackward());
    return succeeded(passes.run(*derived));
  }
  /// The kernels, with the states that attends read, those of gradients merged.
  bool formKernels() {
    mlir::PassManager passes(&context);
    passes.addPass(createChooseSchedule());
    passes.addPass(createNameStates());
    passes.addPass(createMergeStates());
    passes.addPass(createFormKernels());
    return succeeded(passes.run(*derived));
  }
  /// Whether all attends of both directions have a running state, of so many features at most.
  bool haveStates(int64_t mostFeatures) {
    bool have = true;
    derived->walk([&](AttendOp attend) {
      have &= attend.getKey().getType().getWidth() <= mostFeatures && mayHaveState(attend);
    });
    return have;
  }
  AttentionOp forward() { return derived->lookupSymbol<AttentionOp>(name + "__forward"); }
  AttentionOp backward() { return derived->lookupSymbol<AttentionOp>(name + "__backward"); }

  NamedArrays gradients(GradientCall &call, Reading reading = Reading::Scores);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> spec, derived;
  std::string name;
};

/// Runs the forward entry, whose results are those of the attention, and the backward entry on what
/// it has kept.
inline NamedArrays Derivation::gradients(GradientCall &call, Reading reading) {
  auto expected = evaluate(call.attention, call.arguments, call.sizes, Reading::Scores);
  auto kept = evaluate(forward(), call.arguments, call.sizes, reading);
  EXPECT_TRUE(succeeded(expected) && succeeded(kept));
  if (failed(expected) || failed(kept))
    return {};
  NamedArrays known;
  for (auto [i, argument] : llvm::enumerate(call.arguments))
    known[nameOf(call.attention.getArgNames(), i)] = argument;
  for (auto [i, result] : llvm::enumerate(*kept)) {
    known[nameOf(forward().getResultNames(), i)] = result;
    if (i < expected->size())
      EXPECT_LT(relativeError(result, (*expected)[i]), 1e-10);
  }
  for (const auto &[result, array] : call.ofResults)
    known["d_" + result] = array;
  std::vector<Array> arguments;
  for (size_t i = 0; i < backward().getArgNames().size(); ++i) {
    std::string argument = nameOf(backward().getArgNames(), i);
    EXPECT_TRUE(known.count(argument)) << argument;
    arguments.push_back(known[argument]);
  }
  auto gradients = evaluate(backward(), arguments, call.sizes, reading);
  EXPECT_TRUE(succeeded(gradients));
  NamedArrays result;
  for (size_t i = 0; succeeded(gradients) && i < gradients->size(); ++i) {
    std::string gradient = nameOf(backward().getResultNames(), i);
    EXPECT_EQ(gradient.substr(0, 2), "d_");
    result[gradient.substr(2)] = (*gradients)[i];
  }
  return result;
}

/// Holds the derived gradients against the oracle's own, which know nothing of rules, and against
/// differences along a random direction in each argument.
inline void expectDerivedGradients(Derivation &derivation, GradientCall &call,
                                   bool differences = true, Reading reading = Reading::Scores) {
  NamedArrays gradients = derivation.gradients(call, reading);
  ASSERT_FALSE(gradients.empty());
  std::vector<std::string> names;
  for (const auto &[name, gradient] : gradients)
    names.push_back(name);
  NamedArrays expected = call.gradientsOf(names);
  for (const auto &[name, gradient] : gradients) {
    ASSERT_EQ(llvm::ArrayRef<int64_t>(gradient.shape),
              llvm::ArrayRef<int64_t>(expected[name].shape))
        << name;
    EXPECT_LT(relativeError(gradient, expected[name]), 1e-6) << name;
  }
  if (differences)
    for (const auto &[name, direction] : randomDirection(call, gradients))
      expectDifferenceAlong(call, gradients, {{name, direction}}, "along " + name);
}

} // namespace polyattn

#endif // POLYATTN_TEST_UNIT_TRANSFORMS_DERIVATION_H

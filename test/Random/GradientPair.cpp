//===- GradientPair.cpp - gradients as the oracle evaluates them ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientPair.h"
#include "lib/Driver/Conditioning.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::random;

/// Makes the entry of a direction in a module of its own.
static llvm::Expected<Entry> makeEntry(ModuleOp module, CallDirection direction,
                                       const GradientOptions &options) {
  auto entries = makeEntries(module, {direction, /*pair=*/false, options});
  if (!entries)
    return entries.takeError();
  return std::move(entries->front());
}

llvm::Expected<GradientPair> GradientPair::make(AttentionOp definition,
                                                const GradientOptions &options) {
  GradientPair pair;
  pair.forwardModule = cloneAlone(definition);
  pair.backwardModule = cloneAlone(definition);
  auto forward = makeEntry(*pair.forwardModule, CallDirection::Training, options);
  if (!forward)
    return forward.takeError();
  auto backward = makeEntry(*pair.backwardModule, CallDirection::Backward, options);
  if (!backward)
    return backward.takeError();
  pair.forward = std::move(*forward);
  pair.backward = std::move(*backward);
  return std::move(pair);
}

bool GradientPair::hasRecurrentReadingWithin(const CallSizes &sizes,
                                             driver::EvaluationBudget budget) const {
  return driver::hasRecurrentReadingWithin(forward.attention, sizes, budget) &&
         driver::hasRecurrentReadingWithin(backward.attention, sizes, budget);
}

FailureOr<std::vector<Array>> GradientPair::evaluate(std::vector<Array> arguments,
                                                     const CallSizes &sizes, Reading reading,
                                                     const Rounding &vectors,
                                                     const Rounding &terms) const {
  const Signature &forwardSignature = forward.signature;
  auto saved = polyattn::evaluate(forward.attention,
                                  ArrayRef(arguments).take_front(forwardSignature.arguments.size()),
                                  sizes, reading, {}, vectors, terms);
  if (failed(saved))
    return failure();
  for (auto [argument, array] : llvm::zip_equal(backward.signature.arguments, arguments))
    for (auto [result, given] : llvm::zip_equal(forwardSignature.results, *saved))
      if (argument.role == Role::Saved && argument.savedFrom == result.name) {
        array = given;
        // An exact evaluation is one in exact numbers.
        for (double &x : array.data)
          x = vectors || terms ? roundTo(argument.type, x) : x;
      }
  return polyattn::evaluate(backward.attention, arguments, sizes, reading, {}, vectors, terms);
}

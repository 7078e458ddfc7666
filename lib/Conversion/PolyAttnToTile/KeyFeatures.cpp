//===- KeyFeatures.cpp - the features of a state's keys -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyFeatures.h"
#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/StateTerms.h"

using namespace mlir;
using namespace polyattn;

KeyFeatures::KeyFeatures(StateUpdateInterface op, bool isPooled) : plan(planFeatures(op.getKey())) {
  for (const Monomial &feature : plan.monomials)
    weights.push_back(feature.weight);
  areBare = !isPooled && canBeBare(op);
}

/// Whether the sums may lack the weights of keys, which readers multiply by instead: where states
/// live in arguments these hold them as they are read, so that what is left and found again has the
/// same bits. Weights can be divided by, and what queries multiply by is a number of f32; otherwise
/// each side has its own, whose product may come about where features and values have made up for
/// them.
bool KeyFeatures::canBeBare(StateUpdateInterface op) const {
  if (op->getParentOfType<AttentionOp>().hasStatesInPlace() || llvm::is_contained(weights, 0.0))
    return false;
  if (llvm::all_of(weights, [](double weight) { return weight == 1; }))
    return true;
  return llvm::all_of(readersOf(op), [&](AttendOp attend) {
    if (pairsOf(attend.getState())) // whose weights are small numbers
      return true;
    FeaturePlan queries = planFeatures(attend.getQuery());
    return llvm::all_of(termsOf(attend.getState()), [&](const StateTerm &term) {
      return term.state != op || llvm::all_of(llvm::seq<int64_t>(0, term.rows()), [&](int64_t i) {
               double ofKey = weights[term.feature + (term.isTransposed ? 0 : i)];
               return isRepresentable(attend.scoreScale() * queries.monomials[term.row + i].weight *
                                      (term.factor * ofKey));
             });
    });
  });
}

KeyFeatures::Weights KeyFeatures::missing() const {
  bool areOnes = llvm::all_of(weights, [](double weight) { return weight == 1; });
  return areBare && !areOnes ? weights : Weights();
}

//===- Sides.cpp - vectors of queries and vectors of keys -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Sides.h"
#include "dialects/PolyAttn/Kernels.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::isTermOfKeys(WeightGradientOp gradient, size_t term) {
  // The root is under either of a pair: a transposed weight has its input last.
  return isOfKeys(gradient.getGradients()[term]) ||
         (!gradient.getInputs().empty() && isOfKeys(gradient.getInputs()[term]));
}

bool polyattn::isOfKeys(WeightGradientOp gradient) {
  return llvm::all_of(llvm::seq<size_t>(0, gradient.getGradients().size()),
                      [&](size_t term) { return isTermOfKeys(gradient, term); });
}

bool polyattn::hasRowsOfKeys(AttendOp attend, Value result) {
  if (result == attend.getKeptStates())
    return attend.getGateHeads() != GateHeads::Q;
  return attend.getOfKeys();
}

bool polyattn::isOfKeys(Value vector) {
  bool ofKeys = false;
  SmallVector<Value> pending = {vector};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = yieldedValue(pending.pop_back_val());
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto attend = dyn_cast<AttendOp>(op)) {
      if (!hasRowsOfKeys(attend, value))
        return false;
      ofKeys = true;
      continue;
    }
    if (auto backward = dyn_cast<AttendBackwardOp>(op)) {
      if (!backward.isOfKeys(value))
        return false;
      ofKeys = true;
      continue;
    }
    llvm::append_range(pending, op->getOperands());
  }
  return ofKeys;
}

Value polyattn::runningSumOf(Value value) {
  if (auto gradient = value.getDefiningOp<WeightGradientOp>())
    return gradient.getPlus();
  if (auto sum = value.getDefiningOp<SumWeightsOp>())
    return sum.getPlus();
  if (auto gradient = definingOp<FilterGradientOp>(value))
    return gradient.getPlus();
  auto gradient = value.getDefiningOp<DecayGradientOp>();
  return gradient ? gradient.getPlus() : Value();
}

bool polyattn::givesStatesAlone(AttendOp attend) {
  return attend.getFinalState() &&
         llvm::none_of(ValueRange{attend.getOutput(), attend.getRowFactors(),
                                  attend.getKeptStates(), attend.getRowProducts()},
                       [](Value rows) { return rows && !rows.use_empty(); });
}

SmallVector<BlockArgument> polyattn::sequencesOf(ArrayRef<Value> vectors) {
  SmallVector<BlockArgument> sequences;
  SmallVector<Value> pending(vectors);
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!value || !seen.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(pending, op->getOperands());
    else if (cast<RankedTensorType>(value.getType()).getRank() == 4)
      sequences.push_back(cast<BlockArgument>(value));
  }
  llvm::sort(sequences,
             [](BlockArgument a, BlockArgument b) { return a.getArgNumber() < b.getArgNumber(); });
  return sequences;
}

SmallVector<BlockArgument> polyattn::sequencesOfKeys(AttendOp attend) {
  return sequencesOf({attend.getKey(), attend.getValue(), attend.getLocalKey()});
}

//===- AddStatesOp.cpp - sums of states that are given --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttendRules.h"

using namespace mlir;
using namespace polyattn;

SmallVector<BlockArgument> AddStatesOp::termsOf(Value state) {
  if (auto argument = dyn_cast<BlockArgument>(state))
    return {argument};
  SmallVector<BlockArgument> terms;
  for (Value term : state.getDefiningOp<AddStatesOp>().getStates())
    terms.push_back(cast<BlockArgument>(term));
  return terms;
}

bool AddStatesOp::isGiven(Value state) {
  return isa<BlockArgument>(state) || state.getDefiningOp<AddStatesOp>();
}

bool polyattn::areGiven(Value decay, ArrayRef<Value> states) {
  return (!decay || isa<BlockArgument>(decay)) &&
         llvm::all_of(states, [](Value state) { return !state || AddStatesOp::isGiven(state); });
}

bool polyattn::isDecayOfFeatures(Value decay) {
  return decay && cast<RankedTensorType>(decay.getType()).getRank() == 4;
}

LogicalResult AddStatesOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  bool isStateType = (type.getRank() == 3 || type.getRank() == 4) &&
                     isStateTensor(getResult(), type.getShape().drop_front(2));
  bool areTerms = llvm::all_of(getStates(), [&](Value state) {
    return isa<BlockArgument>(state) && isStateOrColumn(state, type.getShape().drop_front(2));
  });
  if (!isStateType || getStates().size() < 2 || !areTerms)
    return emitOpError("C1: expected two or more arguments of the attention that are states, f32 "
                       "[B, H, D, dv] or [B, H, D], of the type of their sum, got ")
           << getStates().size() << " of types " << getStates().getTypes() << " for " << type;
  // Their other operands that are tensors are arguments.
  for (Operation *user : getResult().getUsers())
    if (!isa<AttendOp, AttendBackwardOp, DecayGradientOp, StateUpdateInterface>(user))
      return emitOpError("C2: only attends and gradients take a sum of states, but ")
             << user->getName() << " uses it";
  return success();
}

//===- Uses.cpp - how a body uses its arguments ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Uses.h"
#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Sides.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::isPositional(ArrayRef<int64_t> shape) {
  return shape.size() == 3 && ShapedType::isDynamic(shape[0]) &&
         (ShapedType::isDynamic(shape[1]) || shape[1] == 1);
}

UseAnalysis::UseAnalysis(AttentionOp attention) : uses(attention.getBody().getNumArguments()) {
  for (Operation &op : attention.getBody().front()) {
    if (auto attend = dyn_cast<AttendOp>(op))
      visitAttend(attend);
    else if (auto backward = dyn_cast<AttendBackwardOp>(op))
      visitBackward(backward);
    else if (auto state = dyn_cast<StateUpdateInterface>(op))
      visitState(state);
    else if (auto keep = dyn_cast<KeepOp>(op))
      kept.push_back(keep);
    else if (auto result = dyn_cast<ReturnOp>(op))
      for (Value value : result.getResults())
        visitResult(value);
    for (OpOperand &operand : op.getOpOperands())
      visitWeightUse(operand);
  }
  for (auto [argument, use] : llvm::zip(attention.getBody().getArguments(), uses))
    use.isShared = hasSharedHeads(argument.getType());
  for (KeepOp keep : kept)
    visitKept(keep);
  auto note = [&](BlockArgument argument, Role role) {
    if (argument)
      uses[argument.getArgNumber()].numbers = role;
  };
  note(attention.getFirstPositionArgument(), Role::First);
  note(attention.getSlotsArgument(), Role::Slots);
  note(attention.getLengthsArgument(), Role::Lengths);
  note(attention.getOffsetsArgument(), Role::Offsets);
  samePositions |= bool(attention.getOffsetsArgument());
  hasTableRows = attention.getFirstPositionArgument() || attention.getOffsetsArgument();
  // Left behind by an attend that was removed.
  for (auto [argument, use] : llvm::zip(attention.getBody().getArguments(), uses))
    if (argument.use_empty() && AttentionOp::isDecayOrState(argument)) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
      bool isState = shape.size() == 4 && !ShapedType::isDynamic(shape[2]);
      (isState ? use.state : use.decay) = true;
    }
  // Arguments that both sides read tie the symbols that index them.
  for (auto [argument, use] : llvm::zip(attention.getBody().getArguments(), uses)) {
    if (!use.query || !use.key)
      continue;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
    bool positional = isPositional(shape);
    samePositions |= shape.size() == 4 || (positional && !hasTableRows);
    sameHeads |= shape.size() == 4 || ShapedType::isDynamic(shape[positional ? 1 : 0]);
  }
}

void UseAnalysis::visitAttend(AttendOp attend) {
  attends.push_back(attend);
  samePositions |= attend.isOrdered();
  sameHeads |= !attend.getGrouping();
  bool perQueryHead = attend.getGateHeads() == GateHeads::Q, ofKeys = attend.getOfKeys();
  for (Value value : {attend.getQuery(), attend.getLocalQuery(), attend.getProducts()})
    markSide(value, ofKeys ? Side::Key : Side::Query);
  for (Value value : {attend.getKey(), attend.getLocalKey()})
    markSide(value, ofKeys ? Side::Query : Side::Key);
  markSide(attend.getValue(), ofKeys ? Side::Query : Side::Value);
  markGivenStates(attend.getDecay(), {attend.getInitialState(), attend.getInitialNormalizer()},
                  perQueryHead);
  markSide(attend.getBlockStates(), perQueryHead ? Side::Query : Side::Value);
}

/// The attends that read a state say the rest of their sides.
void UseAnalysis::visitState(StateUpdateInterface state) {
  bool ofKeys = state.getOfKeys();
  markSide(state.getKey(), ofKeys ? Side::Query : Side::Key);
  markSide(state.getValue(), ofKeys ? Side::Query : Side::Value);
  markGivenStates(state.getDecay(), {state.getInitialState(), state.getInitialNormalizer()},
                  state.getGateHeads() == GateHeads::Q);
}

/// Marks a decay and states that are arguments, or sums of some. Values may be null.
void UseAnalysis::markGivenStates(Value decay, ArrayRef<Value> states, bool perQueryHead) {
  auto mark = [&](Value value, bool isDecay) {
    if (!value)
      return;
    for (BlockArgument argument : AddStatesOp::termsOf(value)) {
      Uses &use = uses[argument.getArgNumber()];
      (isDecay ? use.decay : use.state) = true;
      use.gateHeads |= perQueryHead;
    }
  };
  mark(decay, /*isDecay=*/true);
  for (Value state : states)
    mark(state, /*isDecay=*/false);
}

void UseAnalysis::visitBackward(AttendBackwardOp backward) {
  samePositions |= backward.getMask() == Mask::Causal;
  sameHeads |= !backward.getGrouping();
  bool perQueryHead = backward.getGateHeads() == GateHeads::Q;
  for (Value value : {backward.getQuery(), backward.getLocalQuery(),
                      backward.getNumeratorGradient(), backward.getDenominatorGradient()})
    markSide(value, Side::Query);
  for (Value value : {backward.getKey(), backward.getLocalKey()})
    markSide(value, Side::Key);
  markSide(backward.getValue(), Side::Value);
  markGivenStates(backward.getDecay(),
                  {backward.getInitialState(), backward.getInitialNormalizer(),
                   backward.getFinalGradient(), backward.getFinalNormalizerGradient()},
                  perQueryHead);
  markSide(backward.getBlockStates(), perQueryHead ? Side::Query : Side::Value);
}

/// A pool has the heads of what it keeps the rows of.
void UseAnalysis::visitKept(KeepOp keep) {
  const Uses &tensor = uses[cast<BlockArgument>(keep.getTensor()).getArgNumber()];
  Uses &pool = uses[cast<BlockArgument>(keep.getPool()).getArgNumber()];
  (tensor.decay ? pool.keptDecay : pool.state) = true;
  pool.gateHeads = tensor.gateHeads;
  pool.isShared = tensor.isShared;
}

void UseAnalysis::visitResult(Value value) {
  if (Value sum = runningSumOf(value))
    visitSum(sum, value);
  if (value.getDefiningOp<DecayGradientOp>() || value.getDefiningOp<KeepOp>())
    return; // all that they take are results of attends or arguments with a use of their own
  if (auto sum = value.getDefiningOp<AddGradientsOp>()) {
    for (Value term : sum.getGradients())
      visitResult(term);
    return;
  }
  if (auto filter = value.getDefiningOp<FilterGradientOp>()) {
    for (ValueRange vectors : {filter.getInputs(), filter.getGradients()})
      for (Value vector : vectors)
        markSide(vector, Side::Query);
    return;
  }
  auto gradient = value.getDefiningOp<WeightGradientOp>();
  if (!gradient)
    return markSide(value, isOfKeys(value) ? Side::Value : Side::Query);
  for (size_t i = 0; i < gradient.getGradients().size(); ++i) {
    Side side = isTermOfKeys(gradient, i) ? Side::Value : Side::Query;
    markSide(gradient.getGradients()[i], side);
    if (!gradient.getInputs().empty())
      markSide(gradient.getInputs()[i], side);
  }
}

/// A running sum has the heads of what is added to it.
void UseAnalysis::visitSum(Value sum, Value added) {
  Uses &use = uses[cast<BlockArgument>(sum).getArgNumber()];
  if (auto gradient = added.getDefiningOp<DecayGradientOp>()) {
    use.decay = true;
    use.gateHeads = gradient.getGateHeads() == GateHeads::Q;
    return;
  }
  auto gradient = added.getDefiningOp<WeightGradientOp>(); // else of a filter
  (gradient && isOfKeys(gradient) ? use.key : use.query) = true;
}

void UseAnalysis::markSide(Value value, Side side) {
  if (!value || !seen[static_cast<int>(side)].insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Uses &use = uses[argument.getArgNumber()];
    (side == Side::Query ? use.query : use.key) = true;
    use.asKey |= side == Side::Key;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isa<AttendBackwardOp>(op)) {
    // Sums of gradients of both sides.
    bool ofKeys = cast<AttendBackwardOp>(op).isOfKeys(value);
    bool wantsKeys = side != Side::Query, isTensor = isa<RankedTensorType>(value.getType());
    samePositions |= !isTensor && ofKeys != wantsKeys;
    sameHeads |= !isTensor && ofKeys != wantsKeys;
    return;
  }
  if (auto attend = dyn_cast<AttendOp>(op)) {
    // What an attend gives has the positions and heads of its rows.
    bool wantsKeys = side != Side::Query, ofKeys = hasRowsOfKeys(attend, value);
    samePositions |= ofKeys != wantsKeys;
    sameHeads |= ofKeys != wantsKeys;
    return;
  }
  // Both vectors name a table of lags, and the pair takes that of the query's head.
  for (Value operand : op->getOperands())
    markSide(operand, isa<RelativeOp, RelativeSlopeOp>(op) ? Side::Query : side);
}

void UseAnalysis::visitWeightUse(OpOperand &operand) {
  auto argument = dyn_cast<BlockArgument>(operand.get());
  if (!argument)
    return;
  Uses &use = uses[argument.getArgNumber()];
  Operation *op = operand.getOwner();
  if (auto read = dyn_cast<ReadOp>(op)) {
    for (OpOperand &inner : read->getUses())
      classify(inner, use);
  } else {
    classify(operand, use);
  }
}

void UseAnalysis::classify(OpOperand &operand, Uses &use) {
  if (auto apply = dyn_cast<ApplyOp>(operand.getOwner())) {
    auto map = SymbolTable::lookupNearestSymbolFrom<FeatureMapOp>(apply, apply.getMapAttr());
    if (map)
      for (OpOperand &inner : map.getBody().getArgument(operand.getOperandNumber()).getUses())
        classify(inner, use);
    return;
  }
  use.gain |= meaningOf(operand) == WeightMeaning::Gain;
  use.frequencies |= meaningOf(operand) == WeightMeaning::Frequencies;
  use.lags |= meaningOf(operand) == WeightMeaning::Lags;
  auto limit = [&](int64_t positions) {
    use.mostPositions = std::min(use.mostPositions.value_or(positions), positions);
  };
  if (auto relative = dyn_cast<RelativeOp>(operand.getOwner()))
    if (LagTable lags = relative.getLags(); lags.coversCalls)
      limit(lags.positions());
  if (auto convolution = dyn_cast<ConvolveOp>(operand.getOwner());
      convolution && operand.get() == convolution.getFilter())
    limit(ConvolveOp::kMostPositions);
}

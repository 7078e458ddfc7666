//===- RunningState.cpp - the state that an attend reads ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunningState.h"
#include "StateUpdates.h"
#include "dialects/PolyAttn/StateTerms.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

//===----------------------------------------------------------------------===//
// Views, by the definitions of their ops
//===----------------------------------------------------------------------===//

static State zerosOf(Value value) {
  auto type = cast<StateType>(value.getType());
  return State::zero(type.getFeatures(), type.getWidth());
}

static State transposed(const State &state, State result) {
  for (auto [f, row] : llvm::enumerate(state.sums))
    for (auto [v, x] : llvm::enumerate(row))
      result.sums[v][f] = x;
  return result;
}

static State unfolded(const State &pairs, bool factorLast, State result) {
  int64_t n = result.sums[0].size(), m = pairs.sums[0].size(), pair = 0;
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = a; b < n; ++b, ++pair)
      for (int64_t r = 0; r < m; ++r) {
        double x = pairs.sums[pair][r] / (a == b ? 1 : std::sqrt(2.0));
        auto row = [&](int64_t k) { return factorLast ? r * n + k : k * m + r; };
        result.sums[row(a)][b] = result.sums[row(b)][a] = x;
      }
  return result;
}

/// What a view has of the sums that `sumsOf` gives of an op.
static State viewOf(Value value, llvm::function_ref<const State &(StateUpdateInterface)> sumsOf) {
  Operation *op = value.getDefiningOp();
  if (auto own = dyn_cast<StateUpdateInterface>(op))
    return sumsOf(own);
  SmallVector<State> parts;
  for (Value operand : op->getOperands())
    parts.push_back(viewOf(operand, sumsOf));
  State result = zerosOf(value);
  if (isa<TransposeStateOp>(op))
    return transposed(parts[0], result);
  if (auto unfold = dyn_cast<UnfoldPairsOp>(op))
    return unfolded(parts[0], unfold.getFactorLast(), result);
  if (auto rows = dyn_cast<StateRowsOp>(op)) {
    auto first = parts[0].sums.begin() + int64_t(rows.getFirst());
    result.sums.assign(first, first + int64_t(rows.getRows()));
    return result;
  }
  if (auto scale = dyn_cast<ScaleStateOp>(op)) {
    parts[0].decay(scale.getFactor().convertToDouble());
    return parts[0];
  }
  int64_t row = 0, column = 0;
  for (const State &part : parts) {
    for (auto [f, numbers] : llvm::enumerate(part.sums))
      llvm::copy(numbers, result.sums[row + f].begin() + column);
    (isa<StackStatesOp>(op) ? row : column) +=
        isa<StackStatesOp>(op) ? part.sums.size() : part.sums[0].size();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

RunningState::RunningState(Evaluator &evaluator, AttendOp op, const HeadVectors &vectors,
                           int64_t batch, int64_t head, bool begins)
    : attend(op), vectors(vectors) {
  int64_t stateHead = evaluator.gateHeadOf(op, head);
  auto initialOf = [&](auto owner) {
    return begins ? evaluator.initialState(owner, batch, stateHead)
                  : State::zero(owner.getKey().getType().getWidth(),
                                owner.getValue().getType().getWidth());
  };
  if (!op.getState()) {
    all.push_back({StateUpdateInterface(), nullptr, initialOf(op)});
    return;
  }
  for (StateUpdateInterface state : statesIn(op.getState())) {
    auto own = std::make_shared<HeadVectors>();
    evaluator.gatherColumns(state, batch, head, *own);
    all.push_back({state, std::move(own), initialOf(state)});
  }
}

void RunningState::applyTransition(int64_t i) {
  for (Sums &sums : all)
    if (sums.op)
      reference::applyTransition(sums.op, vectorsOf(sums), i, sums.state);
    else
      reference::applyTransition(attend, vectors, i, sums.state);
}

void RunningState::add(int64_t j, const Rounding &terms) {
  for (Sums &sums : all) {
    const HeadVectors &columns = vectorsOf(sums);
    sums.state.add(expand(columns.key[j]), columns.value[j], terms);
  }
}

const State &RunningState::get() {
  bool isView = attend.getState() && !attend.getState().getDefiningOp<StateUpdateInterface>();
  if (!isView)
    return all[0].state;
  view = viewOf(attend.getState(), [&](StateUpdateInterface op) -> const State & {
    return llvm::find_if(all, [&](const Sums &sums) { return sums.op == op; })->state;
  });
  return view;
}

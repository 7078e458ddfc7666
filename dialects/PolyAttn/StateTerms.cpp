//===- StateTerms.cpp - which sums an attend reads ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/StateTerms.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace polyattn;

static StateType typeOf(Value state) { return cast<StateType>(state.getType()); }

bool StateTerm::isWhole() const {
  StateType type = state.getSums().getType();
  return !isTransposed && features == type.getFeatures() && values == type.getWidth();
}

/// The rows [first, first + count) of a term; none where it has none of them.
static std::optional<StateTerm> rowsOf(StateTerm term, int64_t first, int64_t count) {
  int64_t begin = std::max(first, term.row), end = std::min(first + count, term.row + term.rows());
  if (begin >= end)
    return std::nullopt;
  (term.isTransposed ? term.value : term.feature) += begin - term.row;
  (term.isTransposed ? term.values : term.features) = end - begin;
  term.row = begin - first;
  return term;
}

SmallVector<StateTerm> polyattn::termsOf(Value state) {
  if (auto own = state.getDefiningOp<StateUpdateInterface>()) {
    StateType type = typeOf(state);
    return {{own, 0, type.getFeatures(), 0, type.getWidth()}};
  }
  SmallVector<StateTerm> terms;
  if (auto scale = state.getDefiningOp<ScaleStateOp>()) {
    terms = termsOf(scale.getState());
    for (StateTerm &term : terms)
      term.factor *= scale.getFactor().convertToDouble();
  } else if (auto transpose = state.getDefiningOp<TransposeStateOp>()) {
    terms = termsOf(transpose.getState());
    for (StateTerm &term : terms) {
      term.isTransposed = !term.isTransposed;
      std::swap(term.row, term.column);
    }
  } else if (auto rows = state.getDefiningOp<StateRowsOp>()) {
    for (const StateTerm &term : termsOf(rows.getState()))
      if (std::optional<StateTerm> part = rowsOf(term, rows.getFirst(), rows.getRows()))
        terms.push_back(*part);
  } else if (isa<StackStatesOp, JoinStatesOp>(state.getDefiningOp())) {
    bool byRows = isa<StackStatesOp>(state.getDefiningOp());
    int64_t before = 0;
    for (Value part : state.getDefiningOp()->getOperands()) {
      for (StateTerm term : termsOf(part)) {
        (byRows ? term.row : term.column) += before;
        terms.push_back(term);
      }
      before += byRows ? typeOf(part).getFeatures() : typeOf(part).getWidth();
    }
  }
  return terms;
}

Value polyattn::pairsOf(Value state) {
  while (auto scale = state.getDefiningOp<ScaleStateOp>())
    state = scale.getState();
  auto pairs = state.getDefiningOp<UnfoldPairsOp>();
  return pairs ? pairs.getState() : Value();
}

SmallVector<StateUpdateInterface> polyattn::statesIn(Value state) {
  llvm::SetVector<Value> values;
  values.insert(state);
  SmallVector<StateUpdateInterface> states;
  for (size_t next = 0; next < values.size(); ++next) {
    Operation *op = values[next].getDefiningOp();
    if (auto own = dyn_cast<StateUpdateInterface>(op))
      states.push_back(own);
    else
      values.insert(op->operand_begin(), op->operand_end());
  }
  return states;
}

SmallVector<AttendOp> polyattn::readersOf(StateUpdateInterface state) {
  llvm::SetVector<Operation *> users(state->user_begin(), state->user_end());
  SmallVector<AttendOp> readers;
  for (size_t next = 0; next < users.size(); ++next)
    if (auto attend = dyn_cast<AttendOp>(users[next]))
      readers.push_back(attend);
    else
      users.insert(users[next]->user_begin(), users[next]->user_end());
  return readers;
}

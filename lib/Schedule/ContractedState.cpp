//===- ContractedState.cpp - states that are symmetric --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/ContractedState.h"
#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/Leaves.h"

using namespace mlir;
using namespace polyattn;

static Structure structureOf(Value vector) {
  return cast<FeatureType>(vector.getType()).getStructure();
}

/// Whether rows of a state have the vector's elements: as they are, or with one more beside them.
static bool canBeRow(Value vector) {
  if (auto concat = vector.getDefiningOp<ConcatOp>())
    return concat.getInputs().size() == 2 && isLeaf(concat.getInputs()[0]) &&
           structureOf(concat.getInputs()[1]).width() == 1;
  return isLeaf(vector);
}

std::optional<ContractedState> ContractedState::of(AttendOp attend) {
  if (attend.getInitialState() || attend.getFinalState() || attend.getSliding() ||
      attend.getNormalizer().hasDenominator())
    return std::nullopt;
  ContractedState state;
  state.factor = attend.scoreScale();
  Value query = withoutScales(attend.getQuery(), state.factor);
  double ofSums = 1;
  Value key = withoutScales(attend.getKey(), ofSums);
  Value value = withoutScales(attend.getValue(), ofSums);
  auto ofQuery = query.getDefiningOp<TensorOp>(), ofKey = key.getDefiningOp<TensorOp>();
  if (!ofQuery || !ofKey || ofQuery.getInputs().size() != 2 || ofKey.getInputs().size() != 2)
    return std::nullopt;
  for (unsigned own : {0, 1}) {
    double keyScale = 1;
    if (withoutScales(ofKey.getInputs()[own], keyScale) != value)
      continue;
    state.keyFactor = value;
    state.queryFactor = ofQuery.getInputs()[own];
    state.column = ofKey.getInputs()[1 - own];
    state.row = ofQuery.getInputs()[1 - own];
    if (!isLeaf(value) || !isLeaf(state.queryFactor) || !canBeRow(state.column) ||
        !canBeRow(state.row) || state.column.getType() != state.row.getType())
      continue;
    state.stateFactor = ofSums * keyScale;
    state.factor *= state.stateFactor;
    state.factorIsLast = own == 1;
    return isRepresentable(state.factor) ? std::optional(state) : std::nullopt;
  }
  return std::nullopt;
}

int64_t ContractedState::features() const {
  int64_t width = structureOf(keyFactor).width();
  return width * (width + 1) / 2;
}

int64_t ContractedState::width() const { return structureOf(column).width(); }

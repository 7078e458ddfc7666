//===- AttendProgram.cpp - one attention inside a tile kernel -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendProgram.h"

using namespace mlir;
using namespace polyattn;

AttendProgram::AttendProgram(AttendOp op, const Schedule &schedule,
                             std::vector<StateReading> readings, const ProgramContext &context)
    : op(op), schedule(schedule), context(context), gates(op, context),
      valueWidth(op.getValue().getType().getWidth()), readings(std::move(readings)) {
  if (!usesState())
    return;
  if (schedule.contracted) {
    planContraction();
    return;
  }
  planQueries();
}

void AttendProgram::planQueries() {
  queryPlan = planFeatures(op.getQuery());
  for (const Monomial &feature : queryPlan.monomials)
    queryWeights.push_back(op.scoreScale() * feature.weight);
  for (StateReading &reading : readings) {
    const StateTerm &term = reading.term;
    // The sums may lack the weights of their features.
    for (int64_t i = 0; i < term.rows(); ++i)
      queryWeights[term.row + i] *=
          term.factor * reading.state->weightOf(term.feature + (term.isTransposed ? 0 : i));
    reading.queries = readings.size() == 1 ? queryPlan : partOf(queryPlan, term.row, term.rows());
    auto first = queryWeights.begin() + term.row;
    reading.weights.assign(first, first + term.rows());
  }
}

StateProgram *AttendProgram::getState() const {
  return readings.size() == 1 && readings[0].term.isWhole() ? readings[0].state : nullptr;
}

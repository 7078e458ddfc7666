//===- StateReading.h - what a query reads of a state -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATEREADING_H
#define POLYATTN_CONVERSION_STATEREADING_H

#include "StateProgram.h"
#include "dialects/PolyAttn/StateTerms.h"

namespace polyattn {

/// Some features of a query, and the sums that they meet.
struct StateReading {
  StateProgram *state;
  StateTerm term;
  /// Whether the state's keys come into it with the loop that reads it.
  bool updates = false;
  /// The query's features that are read here, and what they are multiplied by.
  FeaturePlan queries = {};
  std::vector<double> weights = {};
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATEREADING_H

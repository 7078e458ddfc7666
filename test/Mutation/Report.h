//===- Report.h - caught and survived ---------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_MUTATION_REPORT_H
#define POLYATTN_TEST_MUTATION_REPORT_H

#include "Experiment.h"
#include "llvm/Support/JSON.h"

namespace polyattn::mutation {

struct Counts {
  int all = 0;
  /// What is no change on these inputs.
  int notReached = 0, same = 0;
  int byChecker = 0, byNumbers = 0, byBoth = 0, survived = 0, crashed = 0;

  void add(const Verdict &verdict);
  int caught() const { return byChecker + byNumbers + byBoth; }
  /// The share that is caught of the mutants that change something; 1 where there are none.
  double share() const;
  llvm::json::Object toJson() const;
};

/// The totals, those of each kind of change, and every mutant that was not caught.
struct Report {
  std::string kernel;
  double tolerance;
  llvm::ArrayRef<Mutant> mutants;
  llvm::ArrayRef<int> numbers;
  llvm::ArrayRef<Verdict> verdicts;

  Counts count() const;
  void print(llvm::raw_ostream &stream) const;
  llvm::json::Value toJson() const;
};

} // namespace polyattn::mutation

#endif // POLYATTN_TEST_MUTATION_REPORT_H

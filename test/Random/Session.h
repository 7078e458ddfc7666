//===- Session.h - many cases, and what became of them ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_SESSION_H
#define POLYATTN_TEST_RANDOM_SESSION_H

#include "Choices.h"
#include "Trial.h"
#include "test/Support/Processes.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace polyattn::random {

struct SessionOptions {
  uint64_t seed = 0;
  /// The first case's number, how many cases; none beyond `seconds` is begun.
  size_t first = 0, count = SIZE_MAX;
  double seconds = 60;
  unsigned jobs = 1;
  /// In how many of a hundred cases there is a kernel of the tile dialect instead of a spec.
  int tilePercent = 20;
  SpecWeights weights;
  /// Failures of one kind that are shrunk, and tries for each.
  int keep = 2, tries = 500;
  double shrinkSeconds = 40;
  /// Where failing cases are written.
  std::string folder = ".";
  /// Targets of specs, of which each case takes one of each comma-separated group.
  std::vector<std::vector<std::string>> targets;
};

class Session {
public:
  Session(SessionOptions options, llvm::raw_ostream &out);

  /// Runs all; the number of failures.
  int run();
  /// Runs one case that is given; the number of failures.
  int replay(const Case &trial);
  Case makeCase(size_t number, Choices &choices) const;

private:
  /// What has gone wrong, by which two failures are told apart: `x86-64: wrong numbers`.
  struct Failure {
    std::string target, kind, message;
    std::string key() const { return target + ": " + kind; }
  };
  static std::vector<Failure> failuresOf(const TrialReport &report, const test::ProcessEnd &end);
  void count(const TrialReport &report);
  /// What one case fails with, in a process of its own.
  std::vector<Failure> tryCase(const Case &trial, TrialReport *report = nullptr);
  Case shrunk(size_t number, const Failure &failure);
  void keepFailure(size_t number, const Failure &failure);
  void printSummary(size_t cases, double seconds);

  SessionOptions options;
  llvm::raw_ostream &out;
  mlir::DialectRegistry dialects;
  TargetRegistry targets;
  struct Count {
    int64_t right = 0, refused = 0, wrong = 0, rows = 0, undetermined = 0;
    double worst = 0;
  };
  std::map<std::string, Count> counts;
  std::map<std::string, int64_t> refusals, failures;
};

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_SESSION_H

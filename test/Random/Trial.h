//===- Trial.h - one case on its targets ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_TRIAL_H
#define POLYATTN_TEST_RANDOM_TRIAL_H

#include "Case.h"
#include "mlir/IR/DialectRegistry.h"
#include "polyattn/Driver/Target.h"

namespace polyattn::random {

/// What one target made of a case. Refused: with words, by the verifier or the target. Wrong: the
/// numbers are, or a checker of the target complains, or something was accepted that must not be.
enum class Outcome { None, Right, Refused, Wrong };

/// What a trial leaves in memory that outlives its process.
struct TrialReport {
  /// What was being done: where the process ended, if it ended early.
  char stage[32];
  struct Entry {
    char target[24];
    Outcome outcome;
    char message[600];
    double worst;
    int64_t compared, undetermined;
  };
  static constexpr int kMaxEntries = 10;
  Entry entries[kMaxEntries];
  int count;
};

/// Runs a spec on its targets, or a kernel of the tile dialect.
void runTrial(const Case &trial, const mlir::DialectRegistry &dialects,
              const TargetRegistry &targets, TrialReport &report);

/// Runs the trial of a parsed tile kernel (TileTrial.cpp).
void runTileTrial(const Case &trial, mlir::ModuleOp module, std::string &diagnostics,
                  TrialReport &report);

/// Shared by both.
TrialReport::Entry &addEntry(TrialReport &report, llvm::StringRef target);
void conclude(TrialReport::Entry &entry, Outcome outcome, llvm::StringRef message);
/// Makes random numbers what the case says they are.
void disturb(const Case &trial, const TensorSignature &signature, const HostTensor &tensor);

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_TRIAL_H

//===- Judge.h - how far a result may be from the oracle's ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A random program may lose all digits where it subtracts what is nearly equal, in any arithmetic.
// So the oracle says itself how well each row is determined (lib/Driver/Conditioning.h).
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_RANDOM_JUDGE_H
#define POLYATTN_TEST_RANDOM_JUDGE_H

#include "GradientPair.h"
#include "polyattn/Entry/Signature.h"

namespace polyattn::random {

using driver::Arithmetic;
using driver::ArithmeticOfAttention;
using driver::Disturbance;

/// The rows of right results with the errors that they may have.
class Judge {
public:
  /// Rows are sums of so many terms, over keys or features of a state, each step of which is
  /// rounded.
  static Judge of(const Arithmetic &arithmetic, std::vector<Array> reference, int64_t terms);
  /// Asks the oracle for the rows and how well they are determined, by a running state, too, where
  /// `budget` allows. Fails, with the context's diagnostic, where it refuses the program.
  static llvm::Expected<Judge> ask(AttentionOp attention, llvm::ArrayRef<HostTensor> arguments,
                                   const CallSizes &sizes, const ArithmeticOfAttention &arithmetic,
                                   driver::EvaluationBudget budget);
  /// Asks it for gradients, by the entries that differentiation has made.
  static llvm::Expected<Judge> ask(const GradientPair &gradients,
                                   llvm::ArrayRef<HostTensor> arguments, const CallSizes &sizes,
                                   const ArithmeticOfAttention &arithmetic,
                                   driver::EvaluationBudget budget);

  /// Adds the rows as another arithmetic computes them; `part` of what they are off by counts.
  void addSample(llvm::ArrayRef<Array> sample, double part = 1);

  /// Lets rows be off by what another judge's are, too, which has results of the same sizes: those
  /// of a way to compute them that rounds elsewhere.
  void allowAlso(const Judge &other);

  struct Verdict {
    /// The first row that is wrong; empty where none is.
    std::string failure;
    /// The worst error as a part of what is allowed.
    double worst = 0;
    /// Rows that were compared, and those that the arithmetic does not determine.
    int64_t compared = 0, undetermined = 0;
  };
  /// Judges the rows of one tensor, `reference[number]`, which are held in `type`.
  void judge(size_t number, llvm::StringRef name, ElementType type, const Array &result,
             Verdict &verdict) const;

private:
  /// An evaluation by the oracle, as `evaluate` of polyattn/Reference/Evaluate.h.
  using Evaluation = llvm::function_ref<mlir::FailureOr<std::vector<Array>>(
      Reading reading, const Rounding &vectors, const Rounding &terms)>;
  /// `recurrent` is null where a running state cannot be asked.
  /// The first `results` arrays are judged; those after them are factors of rows
  /// (`returnRowFactors`).
  static llvm::Expected<Judge> ask(Evaluation definition, Evaluation recurrent, size_t results,
                                   int64_t terms, const ArithmeticOfAttention &arithmetic);
  /// Adds the rows as the evaluation gives them with these changes; none where it fails.
  void sampleOnce(Evaluation evaluation, Reading reading, Disturbance vectors, Disturbance sums,
                  double part = 1);
  void sample(Evaluation evaluation, Reading reading, const ArithmeticOfAttention &arithmetic,
              double part = 1);
  void sampleNearest(Evaluation evaluation, const ArithmeticOfAttention &arithmetic);
  void sampleDirected(Evaluation evaluation, Arithmetic arithmetic);
  /// Adds the rows with all sums, or all vectors, moved one way, which rows may be off by.
  void addDirectedSample(llvm::ArrayRef<Array> sample);
  /// Calls `look` with each row's distance from the reference, and its spread.
  void forRows(llvm::ArrayRef<Array> sample,
               llvm::function_ref<void(double far, double &spread)> look);
  /// Marks rows whose denominators may be zero in the arithmetic.
  void noteDenominators(llvm::ArrayRef<Array> movedFactors, double part);
  void judgeRow(size_t number, size_t row, llvm::StringRef name, ElementType type,
                const Array &result, Verdict &verdict) const;

  Arithmetic arithmetic;
  double timesSpread = 0;
  /// Relative to a row, what it may be off in any case.
  double leastError = 0;
  std::vector<Array> reference, factors;
  /// The largest difference of a sample's row, for each result and row; infinite where a sample is.
  std::vector<std::vector<double>> spread;
};

} // namespace polyattn::random

#endif // POLYATTN_TEST_RANDOM_JUDGE_H

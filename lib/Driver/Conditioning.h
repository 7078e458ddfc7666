//===- Conditioning.h - how well rows are determined ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a normalizer that nearly vanishes, or of a high power of few numbers, differs from the
// oracle's in any arithmetic, by more the fewer digits the arithmetic has. The oracle says by how
// much: it evaluates such rows again while every number is changed by about a unit roundoff. What a
// target's row may differ by is some times what these rows differ by.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_CONDITIONING_H
#define POLYATTN_LIB_DRIVER_CONDITIONING_H

#include "Check.h"
#include <random>

namespace polyattn::driver {

/// What a number becomes when it is computed.
struct Arithmetic {
  /// The largest relative change, the largest finite number, and the least number that keeps all
  /// digits; those below it change by as much as it does.
  double unit = 0, largest = 0, least = 0;
  /// The least normal number: what is below it may be taken for zero.
  double leastNormal = least;

  static Arithmetic of(ElementType type);
  /// f32, whose numbers are multiplied as the sum of two of tf32. The second one of a small number
  /// is below the normal numbers.
  static Arithmetic ofSplitTF32();
  /// f32, whose numbers are multiplied as the sum of two of bf16: in gradients of 16-bit tensors.
  static Arithmetic ofSplitBF16();
  /// The relative error of a product with split operands, for tensors of this type: each operand is
  /// rounded to the sum of two numbers, and the product of the second numbers is left out.
  static double splitProduct(ElementType storage) {
    return storage == ElementType::F32 ? 0x1p-22 : 0x1p-16;
  }
};

/// An arithmetic that changes every number that it is given.
class Disturbance {
public:
  /// ToNearest gives the numbers of the type itself, so that what is equal or zero there is so.
  enum class Way { AtRandom, Upwards, Downwards, ToNearest };
  /// Disturbances of even seeds flush what is below all normal numbers to zero.
  Disturbance(const Arithmetic &arithmetic, uint64_t seed, Way way = Way::AtRandom)
      : arithmetic(arithmetic), flushes(seed % 2 == 0), way(way), engine(seed) {}
  double operator()(double x);

private:
  Arithmetic arithmetic;
  bool flushes;
  Way way;
  std::mt19937_64 engine;
};

/// How many multiply-adds an evaluation may take: as many as are over soon, or some seconds' worth
/// where a result is about to be called wrong.
enum class EvaluationBudget : int64_t { Small = 20'000'000, Large = 1'000'000'000 };

/// The most terms of a sum: over keys, or over what a key or a value has.
int64_t longestSum(AttentionOp attention, int64_t keys);

/// Whether a running state of features can be asked, within that budget.
bool hasRecurrentReadingWithin(AttentionOp attention, const CallSizes &sizes,
                               EvaluationBudget budget = EvaluationBudget::Small);

/// What vectors are computed in, and what scores and sums are.
struct ArithmeticOfAttention {
  Arithmetic vectors, sums;
};

/// Evaluates an attention by a reading, `count` times in an arithmetic, and shows each result. What
/// the reading refuses is not shown.
void sampleReading(AttentionOp attention, llvm::ArrayRef<Array> arguments, const CallSizes &sizes,
                   Reading reading, const Selection &selection,
                   const ArithmeticOfAttention &arithmetic, int count,
                   llvm::function_ref<void(llvm::ArrayRef<Array>)> show);

/// The part of itself that the denominator of a result's row moves by, from factors before and
/// after
/// (`returnRowFactors`). Where a few times as much takes it to zero, the row may go anywhere,
/// although samples that miss the zero leave it where it is: beside a bias that is smaller than
/// what a sum is off by, the quotient is 1 on both sides of it. 0 for a row without keys, whose
/// factor is 0, and for results that have other rows than the factors, as states have.
double denominatorMove(const Array &result, int64_t row, const Array &factors,
                       const Array &movedFactors);

/// The distance in the 2-norm; infinite where an element is NaN.
double distance(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);

/// A row of a result that is further from the oracle's than the tolerance.
struct DoubtfulRow {
  /// The result, and the row among all of that result.
  size_t result;
  int64_t row;
  /// The row's distance from the oracle's, and the size of the oracle's row, in the 2-norm.
  double difference, size;
  /// The furthest that the oracle's row moved.
  double spread = 0;
  /// The largest part of itself that a denominator of the row moved by.
  double denominatorMove = 0;

  double condition(ElementType arithmetic) const;
  /// Whether the row is badly determined, and not further off than that explains.
  bool isExplained(const Oracle &oracle) const;
};

/// Sets the rows' spread, and how far their denominators moved.
void estimateSpread(const Oracle &oracle, const Expectation &expectation,
                    llvm::MutableArrayRef<DoubtfulRow> rows);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_CONDITIONING_H

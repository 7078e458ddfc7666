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
  /// The largest relative change, the largest finite number, the least normal one.
  double unit, largest, least;

  static Arithmetic of(ElementType type);
};

/// An arithmetic that changes every number that it is given, at random. Those of even seeds flush
/// what is below all normal numbers to zero.
class Disturbance {
public:
  Disturbance(const Arithmetic &arithmetic, uint64_t seed)
      : arithmetic(arithmetic), flushes(seed % 2 == 0), engine(seed) {}
  double operator()(double x);

private:
  Arithmetic arithmetic;
  bool flushes;
  std::mt19937_64 engine;
};

/// Whether a running state of features can be asked, and soon.
bool hasQuickRecurrentReading(AttentionOp attention, const CallSizes &sizes);

/// Evaluates an attention by a reading, `count` times in an arithmetic of vectors beside f32 for
/// scores and sums, and shows each result. What the reading refuses is not shown.
void sampleReading(AttentionOp attention, llvm::ArrayRef<Array> arguments, const CallSizes &sizes,
                   Reading reading, const Selection &selection, const Arithmetic &arithmetic,
                   int count, llvm::function_ref<void(llvm::ArrayRef<Array>)> show);

/// In the 2-norm; infinite where a number is none.
double distance(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);

/// A row of a result that is further from the oracle's than the tolerance.
struct DoubtfulRow {
  /// The result, and the row among all of that result.
  size_t result;
  int64_t row;
  /// Its distance from the oracle's row, and that row's size, in the 2-norm.
  double difference, size;
  /// The furthest that the oracle's row moved.
  double spread = 0;

  double condition(ElementType arithmetic) const;
  /// Whether the row is badly determined, and not further off than that explains.
  bool isExplained(const Oracle &oracle) const;
};

/// Sets the rows' spread.
void estimateSpread(const Oracle &oracle, const Expectation &expectation,
                    llvm::MutableArrayRef<DoubtfulRow> rows);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_CONDITIONING_H

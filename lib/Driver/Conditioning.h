//===- Conditioning.h - how well rows are determined ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a normalizer that nearly vanishes, or of a high power of few numbers, differs from the
// oracle's in any arithmetic, by more the fewer digits the arithmetic has. The oracle says by how
// much: it evaluates such rows again while every number is changed by about a unit roundoff.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_DRIVER_CONDITIONING_H
#define POLYATTN_LIB_DRIVER_CONDITIONING_H

#include "Check.h"

namespace polyattn::driver {

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

/// The largest relative error of rounding to a type.
double unitRoundoff(ElementType type);

/// Sets the rows' spread.
void estimateSpread(const Oracle &oracle, const Expectation &expectation,
                    llvm::MutableArrayRef<DoubtfulRow> rows);

} // namespace polyattn::driver

#endif // POLYATTN_LIB_DRIVER_CONDITIONING_H

//===- HeadGradient.h - back through the sums of one head -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slope of a number is the derivative of the loss in it: how much the loss moves when the
// number does. Gradients go back through a definition: from the slopes of what a step gives follow
// those of what it takes.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_HEADGRADIENT_H
#define POLYATTN_LIB_REFERENCE_HEADGRADIENT_H

#include "Evaluator.h"

namespace polyattn::reference {

/// Slopes of one vector: of its numbers, as scores take them, and of its features, as states take
/// them; features are empty where no state does.
struct VectorSlopes {
  FeatureValue<double> numbers;
  std::vector<double> features;
};

/// Slopes of what a row's normalizer takes.
struct RowSlopes {
  std::vector<double> numerator;
  double denominator = 0;
  double largest = 0; // score of the row, of a softmax
};

/// A slope that is a sum. Kernels form it once for each number that it is multiplied with, in
/// products of their own, so that its rounding differs from number to number.
struct RoundedSlope {
  double value;
  double size =
      0; // the root of the sum of the squares of all partial sums, each of which is rounded
  const Rounding *rounding = nullptr;

  RoundedSlope(double value) : value(value) {}
  RoundedSlope(double value, double size, const Rounding &rounding)
      : value(value), size(size), rounding(rounding ? &rounding : nullptr) {}
  RoundedSlope operator*(double factor) const {
    RoundedSlope product = *this;
    product.value *= factor;
    product.size *= factor;
    return product;
  }
  double sample() const { return rounding ? value + size * ((*rounding)(1) - 1) : value; }
};

/// Adds what follows for the numbers of a and b from the slope of score(a, b).
void addScoreSlopes(const FeatureValue<double> &a, const FeatureValue<double> &b,
                    RoundedSlope slope, FeatureValue<double> &aSlopes,
                    FeatureValue<double> &bSlopes);

/// Goes back through the sums of one query head: row by row, then key by key, in the mask's order,
/// through the state after the last one. Slopes of keys, values and gates are complete after that,
/// those of a query after its row.
class HeadGradient {
public:
  /// `initial` is null where nothing is read before the first key. `rounding` says what the terms
  /// of slopes become.
  HeadGradient(AttendOp op, const HeadVectors &vectors, const State *initial,
               const Rounding &rounding = {});

  void throughRow(int64_t i, const RowSlopes &row);
  /// The state after the last key, of which `state` has the slopes: first through what is left of
  /// the initial one, then through what each key has added.
  void throughInitialPart(const State &state);
  void throughKeyPart(int64_t j, const State &state);

  // Slopes of what the head brings, as in HeadVectors, and of the state before the first key.
  std::vector<VectorSlopes> query, key, localQuery, localKey;
  std::vector<std::vector<double>> value;
  std::vector<double> gates;
  State initialState; // empty without one

private:
  void throughLaterKeys(int64_t i, const RowSlopes &row);
  RoundedSlope slopeOfPair(int64_t j, const RowSlopes &row) const;
  double throughPair(int64_t i, int64_t j, double decay, const RowSlopes &row);
  double throughInitialState(int64_t i, double decay, const RowSlopes &row);

  AttendOp op;
  const HeadVectors &vectors;
  const State *initial;
  const Rounding rounding;
  double gatesSoFar = 0;
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_HEADGRADIENT_H

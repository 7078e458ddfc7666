//===- Evaluator.h - one attention, evaluated by its definition -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_EVALUATOR_H
#define POLYATTN_LIB_REFERENCE_EVALUATOR_H

#include "FeatureProgram.h"
#include "polyattn/Reference/Evaluate.h"
#include <cmath>
#include <numeric>

namespace polyattn::reference {

inline double rounded(double x, const Rounding &rounding) { return rounding ? rounding(x) : x; }

/// One batch, position and head (of queries or of keys, whichever reads it).
struct Site {
  int64_t batch, position, head;
};

/// What one query or key head brings to an attention.
struct HeadVectors {
  std::vector<FeatureValue> query, key, localQuery, localKey;
  std::vector<std::vector<double>> value;
  std::vector<double> gates; // log g_i, zeros without a decay

  /// g_first ... g_i, 1 where first > i. What lies between is summed: a difference of two sums
  /// from the first position on would keep the digits of the strongest gate only.
  double decay(int64_t first, int64_t i) const {
    return std::exp(std::accumulate(gates.begin() + first, gates.begin() + i + 1, 0.0));
  }
  /// Entry j is the decay from key j to row i: g_{j+1} ... g_i.
  std::vector<double> decaysTo(int64_t i) const {
    std::vector<double> decays(i + 1, 1.0);
    double logarithm = 0;
    for (int64_t j = i; j > 0; --j)
      decays[j - 1] = std::exp(logarithm += gates[j]);
    return decays;
  }
};

/// Numerator, denominator and largest score of one row. The terms of its sums are rounded, as each
/// step of a sum is by about as much.
struct Row {
  std::vector<double> numerator;
  double denominator = 0, largest = 0;
  int64_t count = 0;

  void add(double weight, const std::vector<double> &value, const Rounding &rounding) {
    weight = rounded(weight, rounding);
    for (size_t v = 0; v < value.size(); ++v)
      numerator[v] += rounded(weight * value[v], rounding);
    denominator += weight;
    largest = count++ ? std::fmax(largest, weight) : weight;
  }
};

/// o = N over the denominator that the normalizer builds. `before` is the number of keys that an
/// initial state stands for.
void normalize(Row &row, NormalizerAttr normalizer, int64_t before);

/// S and z of one batch and head.
struct State {
  std::vector<std::vector<double>> sums; // D x dv
  std::vector<double> normalizer;        // D

  void decay(double factor) {
    for (auto &row : sums)
      for (double &x : row)
        x *= factor;
    for (double &x : normalizer)
      x *= factor;
  }
  void add(const std::vector<double> &features, const std::vector<double> &value,
           const Rounding &rounding) {
    for (size_t f = 0; f < features.size(); ++f) {
      for (size_t v = 0; v < value.size(); ++v)
        sums[f][v] += rounded(features[f] * value[v], rounding);
      normalizer[f] += features[f];
    }
  }
  /// Adds `weight` phi^T S and `weight` phi^T z to a row.
  void read(const std::vector<double> &features, double weight, Row &row,
            const Rounding &rounding) const {
    for (size_t f = 0; f < features.size(); ++f) {
      for (size_t v = 0; v < row.numerator.size(); ++v)
        row.numerator[v] += rounded(weight * features[f] * sums[f][v], rounding);
      row.denominator += rounded(weight * features[f] * normalizer[f], rounding);
    }
  }
};

/// Runs the program of an attention, its attends first to last.
class Evaluator {
public:
  Evaluator(AttentionOp attention, llvm::ArrayRef<Array> arguments, const CallSizes &sizes,
            Reading reading, const Selection &selection, const Rounding &rounding,
            const Rounding &terms);

  mlir::FailureOr<std::vector<Array>> run();

private:
  // Evaluate.cpp: vectors of one site.
  FeatureValue at(mlir::Value value, const Site &site);
  FeatureValue rounded(FeatureValue value) const;
  void bindRead(mlir::Value tensor, mlir::Value result, mlir::Type type, const Site &site,
                Environment &environment);
  FeatureValue applyMap(ApplyOp apply, const Site &site, Environment &outer);
  llvm::ArrayRef<mlir::Operation *> sliceOf(mlir::Value value);

  // Attend.cpp: rows and states of one attend.
  mlir::LogicalResult attend(AttendOp op);
  HeadVectors gather(AttendOp op, int64_t batch, int64_t head);
  std::vector<double> gates(AttendOp op, int64_t batch, int64_t head, int64_t kvHead);
  int64_t kvHeadOf(AttendOp op, int64_t head) const;
  State initialState(AttendOp op, int64_t batch, int64_t head);
  Row scoreRow(AttendOp op, const HeadVectors &vectors, const State *initial, int64_t i);
  void recurrentRows(AttendOp op, const HeadVectors &vectors, State state, std::vector<Row> &rows);
  void store(AttendOp op, int64_t batch, int64_t head, std::vector<Row> &rows);
  void storeFinalState(AttendOp op, const HeadVectors &vectors, State state, int64_t batch,
                       int64_t head);

  /// Where the call's row 0 is in its sequence.
  int64_t firstPosition(int64_t batch) {
    mlir::BlockArgument first = attention.getFirstPositionArgument();
    return first ? int64_t(argument(first).at({batch})) : 0;
  }
  const Array &argument(mlir::Value value) const {
    return arguments[mlir::cast<mlir::BlockArgument>(value).getArgNumber()];
  }

  AttentionOp attention;
  llvm::ArrayRef<Array> arguments;
  CallSizes sizes;
  Reading reading;
  const Rounding &rounding, &terms;
  std::vector<std::pair<int64_t, int64_t>> heads; // batch and query head
  std::vector<int64_t> rows;                      // query positions
  llvm::DenseMap<mlir::Value, Array> computed;    // results of attends
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> slices;
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_EVALUATOR_H

//===- Evaluator.h - one attention, evaluated by its definition -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_EVALUATOR_H
#define POLYATTN_LIB_REFERENCE_EVALUATOR_H

#include "SiteVectors.h"
#include <cmath>
#include <numeric>

namespace polyattn::reference {

inline double rounded(double x, const Rounding &rounding) { return rounding ? rounding(x) : x; }

/// What one query or key head brings to an attention.
struct HeadVectors {
  std::vector<FeatureValue<double>> query, key, localQuery, localKey;
  std::vector<std::vector<double>> value;
  std::vector<LagPlace> lags; // of values that are slopes by lag, else empty
  std::vector<double> gates;  // log g_i, zeros without a decay
  /// The same of each feature; empty where features decay alike.
  std::vector<std::vector<double>> featureGates;

  /// g_first ... g_i, 1 where first > i. What lies between is summed: a difference of two sums
  /// from the first position on would keep the digits of the strongest gate only.
  double decay(int64_t first, int64_t i) const {
    return std::exp(std::accumulate(gates.begin() + first, gates.begin() + (i + 1), 0.0));
  }
  /// Entry j is the decay from key j to row i: g_{j+1} ... g_i.
  std::vector<double> decaysTo(int64_t i) const {
    std::vector<double> decays(i + 1, 1.0);
    double logarithm = 0;
    for (int64_t j = i; j > 0; --j)
      decays[j - 1] = std::exp(logarithm += gates[j]);
    return decays;
  }
  /// Entry j is the decay between row i and a key j that comes later: g_{i+1} ... g_j.
  std::vector<double> decaysFrom(int64_t i) const {
    std::vector<double> decays(gates.size(), 1.0);
    double logarithm = 0;
    for (int64_t j = i + 1; j < int64_t(gates.size()); ++j)
      decays[j] = std::exp(logarithm += gates[j]);
    return decays;
  }
};

/// The keys [first, end) that a row sees of `columns`, by the mask and the window.
struct VisibleKeys {
  int64_t first, end;

  template <typename Op> static VisibleKeys of(Op op, int64_t row, int64_t columns) {
    bool seesBefore = op.getMask() != Mask::Anticausal, seesAfter = op.getMask() != Mask::Causal;
    int64_t reach = op.getWindow() ? int64_t(*op.getWindow()) : row + columns + 1;
    return {seesBefore ? std::max<int64_t>(row - reach + 1, 0) : row,
            seesAfter ? std::min(row + reach, columns) : row + 1};
  }
};

/// Numerator, denominator and largest score of one row. The terms of its sums are rounded, as each
/// step of a sum is by about as much. The exponents of a softmax are less by the largest score.
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

template <typename Number> using RoundingOf = std::function<Number(Number)>;

/// What a row's numerator is multiplied by, from the sum and the largest of its scores and the
/// number of keys that it has seen; 0 where there are none, whatever the normalizer would divide
/// by.
template <typename Number>
Number normalizingFactor(NormalizerAttr normalizer, const Number &sum, const Number &largest,
                         int64_t keys, const RoundingOf<Number> &rounding = {});

/// What is added to a row's denominator for what is added to its scores: 0 where that is the floor
/// (`min_denom`), or where there is none. Gradients are made of it (`factors` of an attend).
double denominatorSlope(NormalizerAttr normalizer, double sum, double largest, int64_t keys);

/// S and z of one batch and head.
struct State {
  std::vector<std::vector<double>> sums; // D x dv
  std::vector<double> normalizer;        // D

  static State zero(int64_t width, int64_t valueWidth) {
    return {std::vector(width, std::vector(valueWidth, 0.0)), std::vector(width, 0.0)};
  }
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

class RunningState;

/// Runs the program of an attention, its attends first to last.
class Evaluator {
public:
  Evaluator(AttentionOp attention, llvm::ArrayRef<Array> arguments, const CallSizes &sizes,
            Reading reading, const Selection &selection, const Rounding &rounding,
            const Rounding &terms, int64_t rowsBefore = 0);

  mlir::FailureOr<std::vector<Array>> run();
  /// The call's tensors, after a run those that attends give among them; and the vectors they give.
  const CallTensors &getTensors() const { return tensors; }
  SiteVectors &getVectors() { return vectors; }

  // Evaluate.cpp: vectors of one site.
  FeatureValue<double> at(mlir::Value value, const Site &site);
  FeatureValue<double> rounded(FeatureValue<double> value) const;
  mlir::RankedTensorType resultType(size_t index);
  void forSites(bool ofKeys, llvm::function_ref<void(const Site &)> visit);
  Array weightGradient(WeightGradientOp op, mlir::RankedTensorType type);
  Array sumOfHeads(SumHeadsOp op);
  Array decayGradient(DecayGradientOp op);
  /// A vector at all positions of a head (Convolve.cpp).
  std::vector<std::vector<double>> vectorsOf(mlir::Value value, int64_t batch, int64_t head);
  void convolve(ConvolveOp op);
  Array filterGradient(FilterGradientOp op, mlir::RankedTensorType type);
  void addRunningSum(mlir::Value argument, Array &sum) const;
  void addTensors(mlir::ValueRange terms, mlir::Value sum);

  // Attend.cpp: rows and states of one attend.
  /// Attends of both directions are asked alike.
  template <typename Op> HeadVectors gather(Op op, int64_t batch, int64_t head);
  /// The head of keys that serves a query head, and that of its decay and its state.
  template <typename Op> int64_t kvHeadOf(Op op, int64_t head) const;
  template <typename Op> int64_t gateHeadOf(Op op, int64_t head) const;
  /// The positions of an attend's rows, and of what they sum over.
  template <typename Op> int64_t rowsOf(Op op) const;
  template <typename Op> int64_t columnsOf(Op op) const;
  template <typename Op> std::vector<int64_t> selectedRows(Op op) const;
  template <typename Op> int64_t firstHeadOf(Op op, int64_t kvHead) const;
  /// The keys and the values that a query head meets, and the gates between them.
  template <typename Op>
  void gatherColumns(Op op, int64_t batch, int64_t head, HeadVectors &vectors);
  /// The state that an attend or a `state` op is given, or zeros.
  template <typename Op> State initialState(Op op, int64_t batch, int64_t head);
  Row scoreRow(AttendOp op, const HeadVectors &vectors, const State *initial, int64_t i);
  /// The rows in front of the call's own (Kept.h) that an attend's state has taken in already: of
  /// the positions that are in front for the windows of attends beside it.
  int64_t rowsInState(AttendOp op) const;
  Row softmaxRow(AttendOp op, const HeadVectors &vectors, int64_t i);
  /// The keys before a causal call's first one, which count in a mean.
  int64_t keysBefore(AttendOp op, int64_t batch) const;

private:
  /// Fails without a diagnostic where the work has been cancelled.
  mlir::LogicalResult attend(AttendOp op);
  template <typename Op> void gatherGates(Op op, int64_t batch, int64_t head, HeadVectors &vectors);
  Row scoreRowOfFeatures(AttendOp op, const HeadVectors &vectors, const State *initial, int64_t i);
  double scaledScore(AttendOp op, const HeadVectors &vectors, int64_t i, int64_t j, bool local);
  void slidingRows(AttendOp op, const HeadVectors &vectors, RunningState state,
                   std::vector<Row> &rows);
  void recurrentRows(AttendOp op, const HeadVectors &vectors, RunningState state,
                     std::vector<Row> &rows);
  void reversedRows(AttendOp op, const HeadVectors &vectors, RunningState state,
                    std::vector<Row> &rows);
  void store(AttendOp op, int64_t batch, int64_t head, std::vector<Row> &rows);
  void storeProducts(AttendOp op, const HeadVectors &vectors, int64_t batch, int64_t head,
                     const std::vector<Row> &rows);
  void storeKeptStates(AttendOp op, const HeadVectors &vectors, RunningState state, int64_t batch,
                       int64_t head);
  void storeFinalState(AttendOp op, const HeadVectors &vectors, RunningState state, int64_t batch,
                       int64_t head);

  // AttendBackward.cpp: gradients of one attend.
  struct BackwardOfHead;
  void attendBackward(AttendBackwardOp op);

  CallTensors tensors;
  SiteVectors vectors;
  CallSizes sizes;
  int64_t sharedHeads; // of sequences that have them
  Reading reading;
  const Rounding &rounding, &terms;
  std::vector<std::pair<int64_t, int64_t>> heads; // batch and query head
  std::vector<int64_t> rows;                      // query positions
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_EVALUATOR_H

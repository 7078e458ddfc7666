//===- Check.cpp - results against the oracle -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Conditioning.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Reference/Evaluate.h"
#include "polyattn/Schedule/Accuracy.h"
#include "polyattn/Schedule/Cost.h"
#include "polyattn/Schedule/Schedule.h"
#include <limits>
#include <random>
#include <set>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// About how long the oracle may take.
constexpr double kOracleSeconds = 5.0;

int64_t widthOf(Value value) { return cast<FeatureType>(value.getType()).getWidth(); }

bool hasRecurrentReading(AttentionOp attention) {
  return llvm::all_of(attendsOf(attention), [](AttendOp attend) {
    return widthOf(attend.getKey()) <= AttendOp::kMaxStateWidth / 64 && mayHaveState(attend);
  });
}

/// Chooses `count` of the numbers below `total`, ascending; the first and the last among them
/// where there is more than one.
std::vector<int64_t> sample(int64_t total, int64_t count, std::mt19937_64 &random) {
  std::set<int64_t> chosen = {0, total - 1};
  if (total == 0)
    return {};
  if (count == 1)
    return {int64_t(random() % uint64_t(total))};
  while (int64_t(chosen.size()) < std::min(total, count))
    chosen.insert(int64_t(random() % uint64_t(total)));
  return {chosen.begin(), chosen.end()};
}

/// A part of the rows and heads that the oracle can do in time. The constants are measured on
/// the interpreter: 2 ns for a multiply-add, 5 us and 0.3 us around a vector and a pair.
Selection chooseRows(AttentionOp attention, const CallSizes &sizes, Reading reading,
                     uint64_t seed) {
  double keySeconds = 0, rowSeconds = 0; // of one head; of one row of one head
  for (auto attend : attendsOf(attention)) {
    double valueWidth = widthOf(attend.getValue());
    double width = double(widthOf(attend.getKey()));
    keySeconds += sizes.keys * (1e-9 * programFlops(attend.getKey()) + 1e-5);
    rowSeconds += 1e-9 * programFlops(attend.getQuery()) + 5e-6;
    if (attend.getFinalState() || reading == Reading::Recurrent)
      keySeconds += sizes.keys * 2e-9 * width * (2 * valueWidth + 20);
    Structure structure = cast<FeatureType>(attend.getKey().getType()).getStructure();
    if (reading == Reading::Scores)
      rowSeconds += sizes.keys * (2e-9 * double(structure.leafWidth() + valueWidth) + 3e-7);
  }
  int64_t heads = sizes.batch * sizes.heads;
  double all = double(heads) * (keySeconds + double(sizes.queries) * rowSeconds);
  if (all <= kOracleSeconds || !canSelect(attention))
    return {};
  std::mt19937_64 random(seed);
  // Half of the time for the keys of some heads, half for rows of those heads.
  double affordableHeads = kOracleSeconds / 2 / std::max(keySeconds, 1e-6);
  int64_t someHeads =
      std::max<int64_t>(1, int64_t(std::min({affordableHeads, double(heads), 8.0})));
  double affordableRows = kOracleSeconds / 2 / (rowSeconds * double(someHeads));
  int64_t someRows = int64_t(std::min(std::max(affordableRows, 8.0), double(sizes.queries)));
  Selection selection;
  std::vector<int64_t> flat = sample(heads, someHeads, random);
  for (int64_t head : flat)
    selection.heads.push_back({head / sizes.heads, head % sizes.heads});
  if (reading == Reading::Scores)
    selection.rows = sample(sizes.queries, someRows, random);
  return selection;
}

/// Differences below this are roundings of numbers that a type holds with few digits or none. In
/// f32 and bf16 products of decays come to that; in f16 it is 6e-8, which small results have for
/// all their elements.
double smallestStep(ElementType type) {
  return type == ElementType::F16 ? 0x1p-24 : double(std::numeric_limits<float>::min());
}

/// Compares one result row by row.
class Comparison {
public:
  Comparison(const TensorSignature &tensor) : tensor(tensor) {}

  /// Row `number` in both; `where` names it.
  void row(int64_t number, ArrayRef<double> out, ArrayRef<double> reference,
           ArrayRef<int64_t> where) {
    double difference = 0, size = 0;
    for (auto [x, r] : llvm::zip(out, reference)) {
      // What the type cannot hold is Inf in the result, too.
      double stored = roundTo(tensor.type, r);
      if (!std::isfinite(stored) || !std::isfinite(x)) {
        bool sameKind = std::isnan(stored) ? std::isnan(x) : stored == x;
        if (!sameKind && failure.empty())
          failure = "result '" + tensor.name + "': expected " + std::to_string(stored) +
                    " in row " + formatSizes(where) + ", got " + std::to_string(x);
        continue;
      }
      size += r * r;
      if (std::abs(x - r) >= smallestStep(tensor.type))
        difference += (x - r) * (x - r);
    }
    compared.push_back({number, difference, size});
    total += size;
  }

  int64_t rows() const { return int64_t(compared.size()); }

  /// The error of all rows but those that are `excused`, which are ascending. A row of rounding
  /// only is held against the mean row even if the larger rows are excused.
  double error(double tolerance, ArrayRef<int64_t> excused = {}) const {
    double difference = 0, size = 0;
    for (const Compared &row : compared) {
      if (llvm::binary_search(excused, row.number))
        continue;
      difference += row.difference;
      bool isAlone = !excused.empty() && isRoundingOnly(row, tolerance);
      size += isAlone ? meanSize() : row.size;
    }
    return std::sqrt(size > 0 ? difference / size : difference);
  }
  /// The largest error of a row. A row whose reference is zero, and one of rounding only, is held
  /// against the mean row.
  double worstRow(double tolerance) const {
    double worst = 0;
    for (const Compared &row : compared) {
      bool hasSize = row.size > 0 && !isRoundingOnly(row, tolerance);
      worst = std::max(worst, std::sqrt(row.difference / (hasSize ? row.size : meanSize())));
    }
    return worst;
  }
  int64_t roundingRows(double tolerance) const {
    return llvm::count_if(compared,
                          [&](const Compared &row) { return isRoundingOnly(row, tolerance); });
  }
  /// The rows of result `result` that are further off than the tolerance.
  void addDoubtful(size_t result, double tolerance, std::vector<DoubtfulRow> &doubtful) const {
    for (const Compared &row : compared)
      if (isFurtherOff(row, tolerance) && row.size > 0 && !isRoundingOnly(row, tolerance))
        doubtful.push_back({result, row.number, std::sqrt(row.difference), std::sqrt(row.size)});
  }

  const TensorSignature &tensor;
  std::string failure;

private:
  /// A row with the squares of its difference and of the reference's size.
  struct Compared {
    int64_t number;
    double difference, size;
  };
  static bool isFurtherOff(const Compared &row, double tolerance) {
    return row.difference > tolerance * tolerance * row.size;
  }
  /// Whether a row has no digits: its numbers are differences of larger ones, so that it and what
  /// it is off by are within the tolerance of the mean row. Such is the gradient of the first
  /// query, whose one key has all of the weight whatever the query is.
  bool isRoundingOnly(const Compared &row, double tolerance) const {
    double limit = tolerance * tolerance * meanSize();
    return isFurtherOff(row, tolerance) && row.size > 0 && row.size <= limit &&
           row.difference <= limit;
  }
  double meanSize() const { return total > 0 ? total / double(rows()) : 1; }

  std::vector<Compared> compared;
  double total = 0;
};

Comparison compare(const TensorSignature &tensor, const HostTensor &result, const Array &reference,
                   const Selection &selection) {
  Comparison comparison(tensor);
  Array out = toArray(result);
  int64_t width = out.shape.empty() ? 1 : out.shape.back();
  int64_t rows = width ? int64_t(out.data.size()) / width : 0;
  bool isOutput = tensor.role == Role::Output || tensor.role == Role::Saved;
  std::set<std::pair<int64_t, int64_t>> heads(selection.heads.begin(), selection.heads.end());
  std::set<int64_t> positions(selection.rows.begin(), selection.rows.end());
  for (int64_t row = 0; row < rows; ++row) {
    SmallVector<int64_t, 4> index(out.shape.size() - 1);
    for (int64_t d = int64_t(index.size()) - 1, rest = row; d >= 0; --d) {
      index[d] = rest % out.shape[d];
      rest /= out.shape[d];
    }
    if (isOutput && !heads.empty() && !heads.count({index[0], index[2]}))
      continue;
    if (isOutput && !positions.empty() && !positions.count(index[1]))
      continue;
    auto expected = ArrayRef(reference.data).slice(row * width, width);
    // The oracle leaves the states of heads that were not selected NaN.
    if (!isOutput && !heads.empty() && llvm::all_of(expected, [](double x) { return x != x; }))
      continue;
    comparison.row(row, ArrayRef(out.data).slice(row * width, width), expected, index);
  }
  return comparison;
}

int64_t rowsOf(const HostTensor &tensor) {
  int64_t rows = 1;
  for (int64_t size : ArrayRef(tensor.sizes).drop_back())
    rows *= size;
  return rows;
}

std::string formatNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

} // namespace

ElementType driver::typeOfProducts(AttentionOp attention, const Signature &signature) {
  bool isBF16 = askedPrecision(attention.getBody().front()) == ProductPrecision::BF16;
  return isBF16 ? ElementType::BF16 : signature.storage();
}

double driver::defaultTolerance(const Signature &signature, ElementType products) {
  bool isBackward = llvm::any_of(signature.results, [](const TensorSignature &tensor) {
    return tensor.role == Role::Gradient;
  });
  bool rounds = bytesOf(products) < 4;
  for (const auto *list : {&signature.arguments, &signature.results})
    for (const TensorSignature &tensor : *list)
      rounds |= bytesOf(tensor.type) < 4;
  if (rounds)
    return isBackward ? 2e-2 : 1e-2;
  return isBackward ? 5e-5 : kPromisedError;
}

llvm::Expected<Expectation> driver::askOracle(AttentionOp attention, const Inputs &inputs,
                                              uint64_t seed, bool reference) {
  Expectation expectation;
  expectation.reading =
      reference && hasRecurrentReading(attention) ? Reading::Recurrent : Reading::Scores;
  std::vector<Array> arguments;
  arguments.reserve(inputs.arguments.size());
  for (const HostTensor &tensor : inputs.arguments)
    arguments.push_back(toArray(tensor));
  expectation.selection = chooseRows(attention, inputs.sizes, expectation.reading, seed);
  auto expected =
      evaluate(attention, arguments, inputs.sizes, expectation.reading, expectation.selection);
  if (failed(expected))
    return llvm::make_error<ReportedError>();
  expectation.results = std::move(*expected);
  return expectation;
}

std::string driver::failureOf(const TensorSignature &tensor, const HostTensor &result, double error,
                              double tolerance) {
  std::string name = "result '" + tensor.name + "': ";
  if (!(error <= tolerance))
    return name + "expected a relative error of at most " + formatNumber(tolerance) + ", got " +
           formatNumber(error);
  return result.paddingIsPoison() ? "" : name + "memory between its rows was written";
}

CheckReport driver::compareResults(const Signature &signature, const Expectation &expectation,
                                   ArrayRef<HostTensor> results, double tolerance,
                                   const Oracle *oracle) {
  CheckReport report;
  report.tolerance = tolerance;
  report.reading = expectation.backward                     ? "gradients"
                   : expectation.reading == Reading::Scores ? "scores"
                                                            : "recurrent";
  std::vector<Comparison> comparisons;
  std::vector<DoubtfulRow> doubtful;
  for (auto [i, tensor] : llvm::enumerate(signature.results)) {
    comparisons.push_back(
        compare(tensor, results[i], expectation.results[i], expectation.selection));
    if (oracle)
      comparisons[i].addDoubtful(i, report.tolerance, doubtful);
  }
  // Gradients are slow to take again: where they are right as a whole nothing is asked.
  bool isAsked = oracle && (!oracle->backward || llvm::any_of(comparisons, [&](const auto &result) {
                   return result.error(report.tolerance) > report.tolerance;
                 }));
  if (isAsked)
    estimateSpread(*oracle, expectation, doubtful);
  std::vector<std::vector<int64_t>> excused(results.size());
  for (const DoubtfulRow &row : doubtful) {
    report.condition = std::max(report.condition, row.condition(oracle->arithmetic));
    if (row.isExplained(*oracle))
      excused[row.result].push_back(row.row);
  }
  report.doubtfulRows = doubtful.size();
  for (auto [comparison, result, rows] : llvm::zip(comparisons, results, excused)) {
    report.totalRows += rowsOf(result);
    report.checkedRows += comparison.rows();
    report.illConditionedRows += rows.size();
    report.relativeError = std::max(report.relativeError, comparison.error(report.tolerance));
    report.worstRowError = std::max(report.worstRowError, comparison.worstRow(report.tolerance));
    report.roundingRows += comparison.roundingRows(report.tolerance);
    if (report.failure.empty())
      report.failure = comparison.failure.empty()
                           ? failureOf(comparison.tensor, result,
                                       comparison.error(report.tolerance, rows), report.tolerance)
                           : comparison.failure;
  }
  return report;
}

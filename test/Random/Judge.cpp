//===- Judge.cpp - how far a result may be from the oracle's --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "polyattn/Driver/Target.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::random;

/// A few samples find most of a row's spread; a kernel has more steps than the definition.
static constexpr int kSamples = 3;
static constexpr double kTimesSpread = 24;
/// Units that a row may be off in any case: functions are approximated to a few.
static constexpr double kTimesUnit = 24;

Arithmetic Arithmetic::of(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return {0x1p-23, 0x1.fffffep127, 0x1p-126};
  case ElementType::BF16:
    return {0x1p-8, 0x1.fep127, 0x1p-126};
  case ElementType::F16:
    return {0x1p-11, 65504, 0x1p-14};
  case ElementType::I32:
  case ElementType::I64:
    break; // positions, which nothing computes
  }
  return {};
}

double Disturbance::operator()(double x) {
  double random = double(engine() >> 11) * 0x1p-52 - 1; // in [-1, 1)
  if (x == 0 || !std::isfinite(x))
    return x;
  if (std::fabs(x) > arithmetic.largest)
    return std::copysign(HUGE_VAL, x);
  if (std::fabs(x) < arithmetic.least)
    return random < 0 ? 0 : x;
  return x * (1 + arithmetic.unit * random);
}

namespace {

int64_t widthOf(Value value) { return cast<FeatureType>(value.getType()).getWidth(); }

/// Whether a running state of features can be asked, and soon.
bool hasQuickRecurrentReading(AttentionOp attention, const CallSizes &sizes) {
  return llvm::all_of(attention.getBody().getOps<AttendOp>(), [&](AttendOp attend) {
    double width = double(widthOf(attend.getKey()));
    double work = double(sizes.batch * sizes.heads * (sizes.queries + sizes.keys)) * width *
                  double(widthOf(attend.getValue()) + 4);
    return width < 1e5 && work < 2e7 && !hasAbsoluteScore(attend.getQuery()) &&
           !hasAbsoluteScore(attend.getKey()) &&
           attend.getNormalizer().getEpsMode() != EpsMode::RowMax;
  });
}

int64_t widthOf(const Array &array) { return array.shape.empty() ? 1 : array.shape.back(); }

double distance(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip(a, b))
    sum += (x - y) * (x - y);
  return std::isnan(sum) ? HUGE_VAL : std::sqrt(sum);
}

double norm(ArrayRef<double> a) {
  double sum = 0;
  for (double x : a)
    sum += x * x;
  return std::sqrt(sum);
}

} // namespace

Judge Judge::of(const Arithmetic &arithmetic, std::vector<Array> reference, int64_t terms) {
  Judge judge;
  judge.arithmetic = arithmetic;
  // Samples disturb the terms of a sum; its partial sums, which code rounds, grow with their root.
  judge.timesSpread = kTimesSpread * std::max(1.0, std::sqrt(double(terms)) / 4);
  judge.reference = std::move(reference);
  for (const Array &array : judge.reference)
    judge.spread.emplace_back(widthOf(array) ? array.data.size() / widthOf(array) : 0, 0.0);
  return judge;
}

void Judge::addSample(ArrayRef<Array> sample) {
  for (auto [exact, disturbed, rows] : llvm::zip(reference, sample, spread))
    for (size_t row = 0; row < rows.size(); ++row) {
      size_t width = widthOf(exact), first = row * width;
      rows[row] = std::max(rows[row], distance(ArrayRef(exact.data).slice(first, width),
                                               ArrayRef(disturbed.data).slice(first, width)));
    }
}

llvm::Expected<Judge> Judge::ask(AttentionOp attention, ArrayRef<HostTensor> tensors,
                                 const CallSizes &sizes, const Arithmetic &arithmetic) {
  std::vector<Array> arguments;
  for (const HostTensor &tensor : tensors)
    arguments.push_back(toArray(tensor));
  auto exact = evaluate(attention, arguments, sizes, Reading::Scores);
  if (failed(exact))
    return llvm::make_error<ReportedError>();
  Judge judge = of(arithmetic, std::move(*exact), sizes.keys);
  bool recurrent = hasQuickRecurrentReading(attention, sizes);
  for (int sample = 0; sample < kSamples * (1 + recurrent); ++sample) {
    Disturbance disturbance(arithmetic, sample);
    auto results = evaluate(attention, arguments, sizes,
                            sample < kSamples ? Reading::Scores : Reading::Recurrent, {},
                            std::ref(disturbance));
    if (succeeded(results))
      judge.addSample(*results);
  }
  return judge;
}

/// What rounding a row to the result's type may add.
static double storageError(ElementType type, double size, int64_t width) {
  Arithmetic stored = Arithmetic::of(type);
  double subnormals = stored.least * stored.unit * std::sqrt(double(width));
  return type == ElementType::F32 ? 0 : stored.unit * size + 2 * subnormals;
}

void Judge::judge(size_t number, StringRef name, ElementType type, const Array &result,
                  Verdict &verdict) const {
  for (size_t row = 0; row < spread[number].size(); ++row)
    judgeRow(number, row, name, type, result, verdict);
}

void Judge::judgeRow(size_t number, size_t row, StringRef name, ElementType type,
                     const Array &result, Verdict &verdict) const {
  int64_t width = widthOf(reference[number]);
  auto expected = ArrayRef(reference[number].data).slice(row * width, width);
  auto got = ArrayRef(result.data).slice(row * width, width);
  double size = norm(expected), difference = distance(expected, got);
  double allowed = timesSpread * spread[number][row] + kTimesUnit * arithmetic.unit * size +
                   storageError(type, size, width) + 1e-36;
  bool outOfRange = !std::isfinite(allowed) || llvm::any_of(expected, [&](double x) {
    return !std::isfinite(roundTo(type, 1.01 * x));
  });
  if (outOfRange || allowed > 0.5 * size + 1e-30) {
    ++verdict.undetermined;
    // However badly it is determined, it is a number.
    if (outOfRange || std::isfinite(difference))
      return;
  }
  ++verdict.compared;
  verdict.worst = std::max(verdict.worst, difference / allowed);
  if (difference <= allowed || !verdict.failure.empty())
    return;
  size_t worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - expected[i]) <= std::fabs(got[worst] - expected[worst])))
      worst = i;
  llvm::raw_string_ostream stream(verdict.failure);
  stream << "result '" << name << "' " << formatSizes(result.shape) << ", row " << row
         << ": off by " << llvm::format("%.3g", difference) << " of " << llvm::format("%.3g", size)
         << " where " << llvm::format("%.3g", allowed) << " is allowed; element " << worst << " is "
         << llvm::format("%.9g", got[worst]) << " instead of "
         << llvm::format("%.9g", expected[worst]);
}

//===- Gradients.cpp - gradients of a call, and what checks them ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "polyattn/Driver/Target.h"
#include "polyattn/Reference/Gradient.h"
#include "llvm/ADT/DenseSet.h"
#include <chrono>
#include <map>
#include <random>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// A backward call as the oracle takes it.
struct BackwardCall {
  std::vector<Array> arguments; // of the attention
  NamedArrays ofResults;
  std::map<size_t, Array> sums; // running ones, by the number of their argument

  BackwardCall(const Signature &backward, ArrayRef<HostTensor> tensors) {
    llvm::DenseSet<size_t> places;
    for (const TensorSignature &result : backward.results)
      if (result.argument)
        places.insert(*result.argument);
    for (auto [i, signature, tensor] : llvm::enumerate(backward.arguments, tensors))
      if (places.contains(i))
        sums[i] = toArray(tensor);
      else if (signature.role == Role::Gradient)
        ofResults[signature.gradientOf] = toArray(tensor);
      else if (signature.role != Role::Saved)
        arguments.push_back(toArray(tensor));
  }

  /// Adds `sign` times what a result went on from to it.
  void addSum(const TensorSignature &result, double sign, Array &gradient) const {
    if (result.argument)
      for (auto [total, held] : llvm::zip_equal(gradient.data, sums.at(*result.argument).data))
        total += sign * held;
  }
};

/// A gradient has at most so many random directions, and at least so few.
constexpr int64_t kMostDirections = 64, kFewestDirections = 2;

/// Directions in one argument: random ones, and in a small argument also its elements. The random
/// ones come first. They move all elements, so a wrong element is found on a machine that has no
/// time for more than the first directions.
class Directions {
public:
  Directions(const Array &argument, uint64_t seed)
      : shape(argument.shape), elements(argument.data.size()), engine(seed) {}

  int64_t count() const {
    if (elements > kMostDirections)
      return kMostDirections;
    return elements == 0 ? 0 : kFewestDirections + elements;
  }
  /// Direction `index`; the next one each time.
  Array next(int64_t index) {
    return index < kFewestDirections || elements > kMostDirections
               ? random()
               : element(index - kFewestDirections);
  }

private:
  Array element(int64_t index) const {
    Array direction(shape);
    direction.data[index] = 1;
    return direction;
  }
  /// A direction of plus and minus ones.
  Array random() {
    Array direction(shape);
    for (double &x : direction.data)
      x = engine() % 2 ? 1 : -1;
    return direction;
  }

  SmallVector<int64_t> shape;
  int64_t elements;
  std::mt19937_64 engine;
};

/// Adds up how far slopes by a gradient are from those by differences.
class SlopeComparison {
public:
  SlopeComparison(AttentionOp attention, const BackwardCall &call, const CallSizes &sizes)
      : attention(attention), call(call), sizes(sizes) {}

  LogicalResult along(const std::string &name, const Array &gradient, const Array &direction,
                      double tolerance) {
    double slope = 0;
    for (auto [g, d] : llvm::zip(gradient.data, direction.data))
      slope += g * d;
    // So short that hardly any step crosses a kink, of relu or of max; where one has, a shorter one
    // does not.
    double best = std::numeric_limits<double>::infinity(), size = 0;
    for (double step : {1e-7, 1e-8}) {
      auto difference = evaluateDifference(attention, call.arguments, sizes, call.ofResults,
                                           {{name, direction}}, step);
      if (failed(difference))
        return failure();
      double error = std::fabs(slope - difference->value), doubt = 4 * difference->rounding;
      error = error <= doubt ? 0 : error - doubt;
      if (!(error >= best)) {
        best = error;
        size = difference->value;
      }
      if (best <= tolerance * std::fabs(size))
        break;
    }
    squaredError += best * best;
    squaredSize += size * size;
    worst = std::max(worst, best);
    ++directions;
    return success();
  }

  /// The error of all directions together, and that of the worst direction against the mean.
  double error() const { return relative(std::sqrt(squaredError)); }
  double worstError() const { return relative(worst * std::sqrt(double(directions))); }

  int64_t directions = 0;

private:
  double relative(double error) const { return error == 0 ? 0 : error / std::sqrt(squaredSize); }

  AttentionOp attention;
  const BackwardCall &call;
  const CallSizes &sizes;
  double squaredError = 0, squaredSize = 0, worst = 0;
};

} // namespace

llvm::Expected<std::vector<Array>> driver::askGradients(AttentionOp attention,
                                                        const Signature &backward,
                                                        ArrayRef<HostTensor> arguments,
                                                        const CallSizes &sizes,
                                                        const GradientRounding &rounding) {
  BackwardCall call(backward, arguments);
  std::vector<std::string> wrt;
  wrt.reserve(backward.results.size());
  for (const TensorSignature &result : backward.results)
    wrt.push_back(result.gradientOf);
  auto gradients =
      evaluateGradients(attention, call.arguments, sizes, call.ofResults, wrt, rounding);
  if (failed(gradients))
    return llvm::make_error<ReportedError>();
  std::vector<Array> results;
  results.reserve(wrt.size());
  for (const TensorSignature &result : backward.results) {
    results.push_back(std::move((*gradients)[result.gradientOf]));
    call.addSum(result, 1, results.back());
  }
  return results;
}

llvm::Expected<CheckReport>
driver::checkDifferences(AttentionOp attention, const Signature &backward, const Inputs &inputs,
                         ArrayRef<HostTensor> results, std::optional<double> tolerance,
                         uint64_t seed, double seconds) {
  using Clock = std::chrono::steady_clock;
  BackwardCall call(backward, inputs.arguments);
  CheckReport report;
  report.tolerance =
      tolerance.value_or(defaultTolerance(backward, typeOfProducts(attention, backward)));
  report.reading = "differences";
  for (auto [signature, result] : llvm::zip(backward.results, results)) {
    Array gradient = toArray(result);
    call.addSum(signature, -1, gradient);
    SlopeComparison comparison(attention, call, inputs.sizes);
    Directions directions(gradient, seed);
    Clock::time_point start = Clock::now();
    auto hasTime = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count() <
             seconds / double(backward.results.size());
    };
    for (int64_t i = 0; i < directions.count(); ++i) {
      if (i >= kFewestDirections && !hasTime())
        break;
      if (failed(comparison.along(signature.gradientOf, gradient, directions.next(i),
                                  report.tolerance)))
        return llvm::make_error<ReportedError>();
    }
    report.directions += comparison.directions;
    report.relativeError = std::max(comparison.error(), report.relativeError);
    report.worstRowError = std::max(comparison.worstError(), report.worstRowError);
    if (report.failure.empty())
      report.failure = failureOf(signature, result, comparison.error(), report.tolerance);
  }
  return report;
}

//===- GradientChecks.h - gradients against differences ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TEST_UNIT_REFERENCE_GRADIENTCHECKS_H
#define POLYATTN_TEST_UNIT_REFERENCE_GRADIENTCHECKS_H

#include "polyattn/Entry/Signature.h"
#include "polyattn/Reference/Gradient.h"
#include <gtest/gtest.h>
#include <random>

namespace polyattn {

/// A call of an attention, and the gradients of a loss in its results.
struct GradientCall {
  AttentionOp attention;
  CallSizes sizes;
  Signature signature;
  std::vector<Array> arguments;
  NamedArrays ofResults;

  GradientCall(AttentionOp attention, const CallSizes &sizes, unsigned seed = 1)
      : attention(attention), sizes(sizes), signature(llvm::cantFail(signatureOf(attention))),
        random(seed) {
    for (const TensorSignature &tensor : signature.arguments)
      arguments.push_back(draw(tensor));
    for (const TensorSignature &tensor : signature.results)
      ofResults[tensor.name] = draw(tensor);
  }

  Array &argument(const std::string &name) {
    return arguments[signature.findArgument(name) - signature.arguments.data()];
  }
  /// The arguments that have gradients.
  std::vector<std::string> differentiable() const {
    std::vector<std::string> names;
    for (const TensorSignature &tensor : signature.arguments)
      if (!isInteger(tensor.type))
        names.push_back(tensor.name);
    return names;
  }
  NamedArrays gradients() const { return gradientsOf(differentiable()); }
  NamedArrays gradientsOf(llvm::ArrayRef<std::string> wrt) const {
    auto gradients = evaluateGradients(attention, arguments, sizes, ofResults, wrt);
    EXPECT_TRUE(succeeded(gradients));
    return succeeded(gradients) ? std::move(*gradients) : NamedArrays();
  }
  Difference differenceAlong(const NamedArrays &direction, double step) const {
    return *evaluateDifference(attention, arguments, sizes, ofResults, direction, step);
  }

  std::mt19937 random;

private:
  Array draw(const TensorSignature &tensor) {
    Array array(shapeOf(tensor, sizes));
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    double rows = array.rank() < 2 ? 1 : double(array.shape[array.rank() - 2]);
    for (double &x : array.data) {
      switch (tensor.role) {
      case Role::First:
        x = double(signature.positionUnit);
        break;
      case Role::Decay:
        x = std::log(0.5 + 0.5 * uniform(random));
        break;
      case Role::State:
        x = 0.1 + uniform(random);
        break;
      case Role::Gain:
        x = 1 + 0.1 * normal(random);
        break;
      case Role::Weight:
        x = normal(random) / std::sqrt(rows);
        break;
      default:
        x = normal(random);
      }
    }
    return array;
  }
};

inline double normOf(const Array &array) {
  double sum = 0;
  for (double x : array.data)
    sum += x * x;
  return std::sqrt(sum);
}

/// The slope along a direction by the gradients, and about how large it is for a random direction.
struct Slope {
  double value = 0, size = 0;

  Slope(const NamedArrays &gradients, const NamedArrays &direction) {
    for (const auto &[name, d] : direction) {
      const Array &gradient = gradients.at(name);
      for (size_t i = 0; i < d.data.size(); ++i)
        value += gradient.data[i] * d.data[i];
      size += normOf(gradient) * normOf(d) / std::sqrt(double(std::max<size_t>(1, d.data.size())));
    }
  }
};

/// Where a step crosses a kink, of relu or of max, a shorter one hardly does.
inline void expectDifferenceAlong(const GradientCall &call, const NamedArrays &gradients,
                                  const NamedArrays &direction, const std::string &what,
                                  double step = 1e-5) {
  Slope slope(gradients, direction);
  Difference difference;
  double error = 0, allowed = 0;
  for (double length : {step, step / 32}) {
    difference = call.differenceAlong(direction, length);
    error = std::fabs(slope.value - difference.value);
    allowed = 1e-7 * slope.size + 4 * difference.rounding;
    if (error <= allowed)
      return;
  }
  ADD_FAILURE() << what << ": " << slope.value << " by the tape, " << difference.value
                << " by differences, " << allowed << " allowed";
}

inline NamedArrays randomDirection(GradientCall &call, const NamedArrays &gradients) {
  std::normal_distribution<double> normal;
  NamedArrays direction;
  for (const auto &[name, gradient] : gradients) {
    EXPECT_EQ(gradient.shape, call.argument(name).shape);
    Array &array = direction[name] = Array(gradient.shape);
    for (double &x : array.data)
      x = normal(call.random);
  }
  return direction;
}

/// Along a random direction in all arguments at once.
inline void expectDifferenceAlongAll(GradientCall &call, double step = 1e-5) {
  NamedArrays gradients = call.gradients();
  expectDifferenceAlong(call, gradients, randomDirection(call, gradients), "along all", step);
}

/// Along random directions in each argument alone and in all of them, and along some elements of
/// each.
inline void expectGradientsAreDifferences(GradientCall &call, int elements, double step = 1e-5) {
  NamedArrays gradients = call.gradients();
  NamedArrays all = randomDirection(call, gradients);
  expectDifferenceAlong(call, gradients, all, "along all", step);
  for (const auto &[name, direction] : all) {
    expectDifferenceAlong(call, gradients, {{name, direction}}, "along " + name, step);
    for (int i = 0; i < elements && !direction.data.empty(); ++i) {
      size_t element = call.random() % direction.data.size();
      Array single(direction.shape);
      single.data[element] = 1;
      expectDifferenceAlong(call, gradients, {{name, single}},
                            "element " + std::to_string(element) + " of " + name, step);
    }
  }
}

} // namespace polyattn

#endif // POLYATTN_TEST_UNIT_REFERENCE_GRADIENTCHECKS_H

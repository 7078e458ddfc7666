//===- FeatureProgram.cpp - feature programs, one vector at a time --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureProgram.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

using Numbers = std::vector<double>;

/// What one op's rule may look at.
struct Rule {
  Environment &environment;

  Numbers of(Value value) const { return expand(environment.features.find(value)->second); }
  const Numbers &weight(Value value) const {
    return environment.weights.find(value)->second.numbers;
  }
  double rounded(double x) const { return environment.rounding ? environment.rounding(x) : x; }
  const FeatureValue &structured(Value value) const {
    return environment.features.find(value)->second;
  }
};

template <typename F> Numbers mapElements(Numbers numbers, F f) {
  for (double &x : numbers)
    x = f(x);
  return numbers;
}

/// Terms are rounded, as each step of a sum is by about as much.
double sum(const Rule &rule, const Numbers &numbers) {
  double total = 0;
  for (double x : numbers)
    total += rule.rounded(x);
  return total;
}

double norm(const Numbers &numbers) {
  double total = 0;
  for (double x : numbers)
    total += x * x;
  return std::sqrt(total);
}

/// Element-wise combination; a single number serves every element.
template <typename F> Numbers combine(const Rule &rule, OperandRange inputs, double neutral, F f) {
  size_t width = 1;
  for (Value input : inputs)
    width = std::max(width, rule.of(input).size());
  Numbers result(width, neutral);
  for (Value input : inputs) {
    Numbers numbers = rule.of(input);
    for (size_t i = 0; i < width; ++i)
      result[i] = f(result[i], numbers.size() == 1 ? numbers[0] : numbers[i]);
  }
  return result;
}

Numbers project(const Rule &rule, ProjectOp op) {
  Numbers x = rule.of(op.getInput());
  const Numbers &w = rule.weight(op.getWeight());
  size_t columns = w.size() / x.size();
  Numbers y(columns, 0.0);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < columns; ++j)
      y[j] += rule.rounded(w[i * columns + j] * x[i]);
  if (op.getBias())
    for (size_t j = 0; j < columns; ++j)
      y[j] += rule.weight(op.getBias())[j];
  return y;
}

/// W1 W2, row by row.
Numbers weightProduct(const Rule &rule, WeightProductOp op) {
  ArrayRef<int64_t> lhsShape = op.getLhs().getType().getShape();
  int64_t rows = lhsShape[0], depth = lhsShape[1], columns = op.getRhs().getType().getShape()[1];
  const Numbers &lhs = rule.weight(op.getLhs()), &rhs = rule.weight(op.getRhs());
  Numbers product(rows * columns, 0.0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j)
        product[i * columns + j] += lhs[i * depth + k] * rhs[k * columns + j];
  return product;
}

Numbers triu(const Rule &rule, TriuOp op) {
  Numbers a = rule.of(op.getLhs()), b = rule.of(op.getRhs()), y;
  double offDiagonal = op.getWeights() == TriuWeights::Sqrt2 ? std::sqrt(2.0) : 1.0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = i; j < b.size(); ++j)
      y.push_back((i == j ? 1.0 : offDiagonal) * a[i] * b[j]);
  return y;
}

Numbers layerNorm(const Rule &rule, LayerNormOp op) {
  Numbers x = rule.of(op.getInput());
  double mean = sum(rule, x) / x.size(), variance = 0;
  for (double a : x)
    variance += (a - mean) * (a - mean) / x.size();
  double eps = op.getEps().convertToDouble();
  double divisor =
      op.getEpsPlace() == EpsPlace::Inside ? std::sqrt(variance + eps) : std::sqrt(variance) + eps;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = (x[i] - mean) / divisor;
    if (op.getAffine().size() > 0)
      x[i] *= rule.weight(op.getAffine()[0])[i];
    if (op.getAffine().size() > 1)
      x[i] += rule.weight(op.getAffine()[1])[i];
  }
  return x;
}

Numbers softmax(const Rule &rule, SoftmaxOp op) {
  Numbers x = rule.of(op.getInput());
  size_t length = x.size() / op.getGroups();
  for (size_t start = 0; start < x.size(); start += length) {
    double largest = x[start], total = 0;
    for (size_t i = start; i < start + length; ++i)
      largest = std::fmax(largest, x[i]);
    for (size_t i = start; i < start + length; ++i)
      total += x[i] = std::exp(x[i] - largest);
    for (size_t i = start; i < start + length; ++i)
      x[i] /= total;
  }
  return x;
}

Numbers rope(const Rule &rule, RopeOp op) {
  Numbers x = rule.of(op.getInput()), y = x;
  size_t half = op.getDims() / 2;
  double position = rule.environment.position + op.getOffset().convertToDouble();
  for (size_t m = 0; m < half; ++m) {
    double angle = op.getScale().convertToDouble() * position * rule.weight(op.getFreqs())[m];
    bool readHalves = op.getLayout() == RopeLayout::Half;
    bool writePairs = op.getLayout() == RopeLayout::Interleaved;
    double a = x[readHalves ? m : 2 * m], b = x[readHalves ? m + half : 2 * m + 1];
    y[writePairs ? 2 * m : m] = a * std::cos(angle) - b * std::sin(angle);
    y[writePairs ? 2 * m + 1 : m + half] = a * std::sin(angle) + b * std::cos(angle);
  }
  return y;
}

/// x (1 + erf(x / root 2)) / 2 or x (1 + tanh(u)) / 2, without the sum in which their tails cancel.
double gelu(const Rule &rule, double x, GeluForm form) {
  if (form == GeluForm::Erf)
    return 0.5 * x * std::erfc(rule.rounded(-x / std::sqrt(2.0)));
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(rule.rounded(-2 * u)));
}

/// The ops whose result is a plain vector.
Numbers evaluateVector(const Rule &rule, Operation *op) {
  auto input = [&] { return rule.of(op->getOperand(0)); };
  auto elementwise = [&](auto f) { return mapElements(input(), f); };
  auto withWeight = [&](auto f) {
    Numbers x = input();
    const Numbers &w = rule.weight(op->getOperand(1));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = f(x[i], w[i]);
    return x;
  };
  return llvm::TypeSwitch<Operation *, Numbers>(op)
      .Case([&](ProjectOp op) { return project(rule, op); })
      .Case([&](HadamardOp op) {
        return combine(rule, op.getInputs(), 1, [](double a, double b) { return a * b; });
      })
      .Case([&](AddOp op) {
        return combine(rule, op.getInputs(), 0, [](double a, double b) { return a + b; });
      })
      .Case([&](TriuOp op) { return triu(rule, op); })
      .Case([&](ConstantOp op) { return Numbers(op.getWidth(), op.getValue().convertToDouble()); })
      .Case([&](SelectOp op) {
        Numbers x = input(), y;
        for (int64_t index : op.getIndices())
          y.push_back(x[index]);
        return y;
      })
      .Case([&](ReluOp) { return elementwise([](double x) { return x > 0 || x != x ? x : 0; }); })
      .Case([&](EluPlusOneOp) {
        return elementwise([](double x) { return x > 0 ? x + 1 : std::exp(x); });
      })
      .Case([&](ExpOp) { return elementwise([](double x) { return std::exp(x); }); })
      .Case([&](TanhOp) { return elementwise([](double x) { return std::tanh(x); }); })
      .Case([&](SinOp) { return elementwise([](double x) { return std::sin(x); }); })
      .Case([&](CosOp) { return elementwise([](double x) { return std::cos(x); }); })
      .Case([&](AbsOp) { return elementwise([](double x) { return std::fabs(x); }); })
      .Case([&](SigmoidOp) { return elementwise([](double x) { return 1 / (1 + std::exp(-x)); }); })
      .Case([&](SiluOp) { return elementwise([](double x) { return x / (1 + std::exp(-x)); }); })
      .Case([&](SoftplusOp) {
        return elementwise(
            [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); });
      })
      .Case([&](GeluOp op) {
        return elementwise([&](double x) { return gelu(rule, x, op.getForm()); });
      })
      .Case([&](PowOp op) {
        if (op.getExponent())
          return elementwise(
              [&](double x) { return std::pow(x, op.getExponent()->convertToDouble()); });
        if (!isa<FeatureType>(op.getExponents().getType()))
          return withWeight([](double x, double w) { return std::pow(x, w); });
        Numbers x = input(), exponents = rule.of(op.getExponents());
        for (size_t i = 0; i < x.size(); ++i)
          x[i] = std::pow(x[i], exponents[i]);
        return x;
      })
      .Case([&](AddConstOp op) {
        return elementwise([&](double x) { return x + op.getValue().convertToDouble(); });
      })
      .Case([&](ClampMinOp op) {
        double floor = op.getValue().convertToDouble();
        return elementwise([&](double x) { return x < floor ? floor : x; });
      })
      .Case([&](AddVecOp) { return withWeight([](double x, double w) { return x + w; }); })
      .Case([&](MulVecOp) { return withWeight([](double x, double w) { return x * w; }); })
      .Case([&](DivVecOp) { return withWeight([](double x, double w) { return x / w; }); })
      .Case([&](SquaredNormOp) {
        double length = norm(input());
        return Numbers{length * length};
      })
      .Case([&](MaxOp) {
        Numbers x = input();
        return Numbers{*std::max_element(x.begin(), x.end())};
      })
      .Case([&](LayerNormOp op) { return layerNorm(rule, op); })
      .Case([&](L2NormOp op) {
        double divisor = std::fmax(norm(input()), op.getEps().convertToDouble());
        return elementwise([&](double x) { return x / divisor; });
      })
      .Case([&](L2RescaleOp op) {
        double length = norm(input()), target = norm(rule.of(op.getReference()));
        return elementwise([&](double x) { return length == 0 ? 0 : target / length * x; });
      })
      .Case([&](SumNormOp op) {
        double divisor = sum(rule, input()) + op.getEps().convertToDouble();
        return elementwise([&](double x) { return x / divisor; });
      })
      .Case([&](SoftmaxOp op) { return softmax(rule, op); })
      .Case([&](RopeOp op) { return rope(rule, op); });
}

} // namespace

void reference::evaluateFeatureOp(Operation *op, Environment &environment) {
  Rule rule{environment};
  if (auto product = dyn_cast<WeightProductOp>(op)) {
    environment.weights[product.getResult()] = {weightProduct(rule, product)};
    return;
  }
  FeatureValue result;
  if (auto scale = dyn_cast<ScaleOp>(op)) {
    result = rule.structured(scale.getInput());
    result.factor *= scale.getFactor().convertToDouble();
  } else if (isa<TensorOp, ConcatOp, PowerOp>(op)) {
    for (Value operand : op->getOperands())
      result.parts.push_back(rule.structured(operand));
    if (auto power = dyn_cast<PowerOp>(op))
      result.absolute = power.getAbs();
    else if (result.parts.size() == 1)
      result = FeatureValue(result.parts[0]);
    result.structure = cast<FeatureType>(op->getResult(0).getType()).getStructure();
  } else {
    result = FeatureValue::vector(evaluateVector(rule, op));
    for (double &x : result.numbers)
      x = rule.rounded(x);
  }
  environment.features[op->getResult(0)] = std::move(result);
}

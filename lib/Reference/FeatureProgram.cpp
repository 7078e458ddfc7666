//===- FeatureProgram.cpp - feature programs, one vector at a time --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureProgram.h"
#include "dialects/PolyAttn/FeatureOpDispatch.h"
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

// One function per op: `evaluate` gives the numbers of a plain vector, or a value with structure.

//===----------------------------------------------------------------------===//
// Element-wise ops
//===----------------------------------------------------------------------===//

/// The element that the op's definition says, for each; a single number serves every element.
Numbers evaluateElements(const Rule &rule, ElementwiseOpInterface op) {
  SmallVector<Numbers> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<WeightType>(operand.getType()) ? rule.weight(operand)
                                                          : rule.of(operand));
  size_t width = 1;
  for (const Numbers &numbers : operands)
    width = std::max(width, numbers.size());
  auto rounded = [&](double x) { return rule.rounded(x); };
  Numbers result(width);
  SmallVector<double> elements(operands.size());
  for (size_t i = 0; i < width; ++i) {
    for (auto [element, numbers] : llvm::zip(elements, operands))
      element = numbers.size() == 1 ? numbers[0] : numbers[i];
    result[i] = op.evaluateElement(elements, rounded);
  }
  return result;
}

template <typename Op, std::enable_if_t<isElementwiseOp<Op>, int> = 0>
Numbers evaluate(const Rule &rule, Op op) {
  return evaluateElements(rule, op);
}

/// The factor stays beside the structure.
FeatureValue evaluate(const Rule &rule, ScaleOp op) {
  FeatureValue result = rule.structured(op.getInput());
  result.factor *= op.getFactor().convertToDouble();
  return result;
}

//===----------------------------------------------------------------------===//
// Products, sums and parts
//===----------------------------------------------------------------------===//

/// A product or a sum of parts, of which scores are those of the parts.
FeatureValue combineParts(const Rule &rule, Operation *op) {
  if (op->getNumOperands() == 1)
    return rule.structured(op->getOperand(0));
  FeatureValue result;
  for (Value operand : op->getOperands())
    result.parts.push_back(rule.structured(operand));
  result.structure = cast<FeatureType>(op->getResult(0).getType()).getStructure();
  return result;
}

FeatureValue evaluate(const Rule &rule, TensorOp op) { return combineParts(rule, op); }
FeatureValue evaluate(const Rule &rule, ConcatOp op) { return combineParts(rule, op); }

FeatureValue evaluate(const Rule &rule, PowerOp op) {
  FeatureValue result;
  result.parts = {rule.structured(op.getInput())};
  result.absolute = op.getAbs();
  result.structure = op.getType().getStructure();
  return result;
}

Numbers evaluate(const Rule &rule, TriuOp op) {
  Numbers a = rule.of(op.getLhs()), b = rule.of(op.getRhs()), y;
  double offDiagonal = op.getWeights() == TriuWeights::Sqrt2 ? std::sqrt(2.0) : 1.0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = i; j < b.size(); ++j)
      y.push_back((i == j ? 1.0 : offDiagonal) * a[i] * b[j]);
  return y;
}

Numbers evaluate(const Rule &, ConstantOp op) {
  return Numbers(op.getWidth(), op.getValue().convertToDouble());
}

Numbers evaluate(const Rule &rule, SelectOp op) {
  Numbers x = rule.of(op.getInput()), y;
  for (int64_t index : op.getIndices())
    y.push_back(x[index]);
  return y;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Numbers evaluate(const Rule &rule, ProjectOp op) {
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

//===----------------------------------------------------------------------===//
// Reductions and normalizations
//===----------------------------------------------------------------------===//

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

Numbers evaluate(const Rule &rule, SquaredNormOp op) {
  double length = norm(rule.of(op.getInput()));
  return {length * length};
}

Numbers evaluate(const Rule &rule, MaxOp op) {
  Numbers x = rule.of(op.getInput());
  return {*std::max_element(x.begin(), x.end())};
}

Numbers evaluate(const Rule &rule, LayerNormOp op) {
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

Numbers evaluate(const Rule &rule, L2NormOp op) {
  Numbers x = rule.of(op.getInput());
  double divisor = std::fmax(norm(x), op.getEps().convertToDouble());
  for (double &a : x)
    a /= divisor;
  return x;
}

Numbers evaluate(const Rule &rule, L2RescaleOp op) {
  Numbers x = rule.of(op.getInput());
  double length = norm(x), target = norm(rule.of(op.getReference()));
  for (double &a : x)
    a = length == 0 ? 0 : target / length * a;
  return x;
}

Numbers evaluate(const Rule &rule, SumNormOp op) {
  Numbers x = rule.of(op.getInput());
  double divisor = sum(rule, x) + op.getEps().convertToDouble();
  for (double &a : x)
    a /= divisor;
  return x;
}

Numbers evaluate(const Rule &rule, SoftmaxOp op) {
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

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Numbers evaluate(const Rule &rule, RopeOp op) {
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

} // namespace

/// Numbers that an op computes are rounded; a structure is none yet.
static FeatureValue toValue(const Rule &rule, Numbers numbers) {
  for (double &x : numbers)
    x = rule.rounded(x);
  return FeatureValue::vector(std::move(numbers));
}
static FeatureValue toValue(const Rule &, FeatureValue value) { return value; }

void reference::evaluateFeatureOp(Operation *op, Environment &environment) {
  Rule rule{environment};
  if (auto product = dyn_cast<WeightProductOp>(op)) {
    environment.weights[product.getResult()] = {weightProduct(rule, product)};
    return;
  }
  environment.features[op->getResult(0)] =
      dispatch<FeatureValue>(cast<FeatureOpInterface>(op),
                             [&](auto feature) { return toValue(rule, evaluate(rule, feature)); });
}

//===- FeatureProgram.cpp - feature programs, one vector at a time --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureProgram.h"
#include "Tape.h"
#include "dialects/PolyAttn/OpDispatch.h"
#include <tuple>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

/// What each op means, one `evaluate` per op: it gives the numbers of a plain vector, or a value
/// with structure. The formulas are true of f64 and of variables of a tape.
template <typename Number> class FeatureOps {
public:
  using Numbers = std::vector<Number>;

  explicit FeatureOps(Environment<Number> &environment) : environment(environment) {}

  //===--------------------------------------------------------------------===//
  // Element-wise ops
  //===--------------------------------------------------------------------===//

  /// The element that the op's definition says, for each; a single number serves every element.
  template <typename Op, std::enable_if_t<isElementwiseOp<Op>, int> = 0> Numbers evaluate(Op op) {
    SmallVector<Numbers> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<WeightType>(operand.getType()) ? weight(operand) : of(operand));
    // Code may have a term with all digits for one sum, and rounded for another one.
    if constexpr (std::is_same_v<Op, AddOp>)
      for (Numbers &numbers : operands)
        for (Number &x : numbers)
          x = rounded(x);
    size_t width = 1;
    for (const Numbers &numbers : operands)
      width = std::max(width, numbers.size());
    Numbers result(width);
    SmallVector<Number> elements(operands.size());
    for (size_t i = 0; i < width; ++i) {
      for (auto [element, numbers] : llvm::zip(elements, operands))
        element = numbers.size() == 1 ? numbers[0] : numbers[i];
      result[i] =
          op.template element<Number>(elements, [&](const Number &x) { return rounded(x); });
    }
    return result;
  }

  /// The factor stays beside the structure.
  FeatureValue<Number> evaluate(ScaleOp op) {
    FeatureValue<Number> result = structured(op.getInput());
    result.factor *= op.getFactor().convertToDouble();
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Products, sums and parts
  //===--------------------------------------------------------------------===//

  FeatureValue<Number> evaluate(TensorOp op) { return combineParts(op); }
  FeatureValue<Number> evaluate(ConcatOp op) { return combineParts(op); }

  FeatureValue<Number> evaluate(PowerOp op) {
    FeatureValue<Number> result;
    result.parts = {structured(op.getInput())};
    result.absolute = op.getAbs();
    result.structure = op.getType().getStructure();
    return result;
  }

  FeatureValue<Number> evaluate(ExpScoreOp op) {
    FeatureValue<Number> result;
    result.parts = {structured(op.getInput())};
    result.structure = op.getType().getStructure();
    return result;
  }

  Numbers evaluate(TriuOp op) {
    Numbers a = of(op.getLhs()), b = of(op.getRhs()), y;
    double offDiagonal = op.getWeights() == TriuWeights::Sqrt2 ? std::sqrt(2.0) : 1.0;
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = i; j < b.size(); ++j)
        y.push_back((i == j ? 1.0 : offDiagonal) * a[i] * b[j]);
    return y;
  }

  Numbers evaluate(ConstantOp op) {
    return Numbers(op.getWidth(), op.getValue().convertToDouble());
  }

  Numbers evaluate(SelectOp op) {
    Numbers x = of(op.getInput()), y;
    for (int64_t index : op.getIndices())
      y.push_back(x[index]);
    return y;
  }

  Numbers evaluate(ScatterOp op) {
    Numbers x = of(op.getInput()), y(op.getWidth(), 0.0);
    for (auto [i, index] : llvm::enumerate(op.getIndices()))
      y[index] += x[i];
    return y;
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  Numbers evaluate(ProjectOp op) {
    Numbers x = of(op.getInput());
    const Numbers &w = weight(op.getWeight());
    size_t width = w.size() / x.size();
    Numbers y(width, 0.0);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < width; ++j)
        y[j] += rounded(w[op.getTransposed() ? j * x.size() + i : i * width + j] * x[i]);
    if (op.getBias())
      for (size_t j = 0; j < width; ++j)
        y[j] += weight(op.getBias())[j];
    return y;
  }

  /// W1 W2, row by row.
  Numbers evaluateWeight(WeightProductOp op) {
    ArrayRef<int64_t> lhsShape = op.getLhs().getType().getShape();
    int64_t rows = lhsShape[0], depth = lhsShape[1], columns = op.getRhs().getType().getShape()[1];
    const Numbers &lhs = weight(op.getLhs()), &rhs = weight(op.getRhs());
    Numbers product(rows * columns, 0.0);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < columns; ++j)
          product[i * columns + j] += lhs[i * depth + k] * rhs[k * columns + j];
    return product;
  }

  //===--------------------------------------------------------------------===//
  // Reductions and normalizations
  //===--------------------------------------------------------------------===//

  Numbers evaluate(SumOp op) { return {sum(of(op.getInput()))}; }

  Numbers evaluate(SquaredNormOp op) {
    Number length = norm(of(op.getInput()));
    return {length * length};
  }

  Numbers evaluate(MaxOp op) {
    Numbers x = of(op.getInput());
    return {*std::max_element(x.begin(), x.end())};
  }

  Numbers evaluate(FirstMaxOp op) {
    Numbers x = of(op.getInput()), y(x.size(), 0.0);
    y[std::max_element(x.begin(), x.end()) - x.begin()] = 1;
    return y;
  }

  Numbers evaluate(LayerNormOp op) {
    using std::sqrt;
    Numbers x = of(op.getInput());
    Number mean = rounded(sum(x) / x.size()), variance = 0;
    for (const Number &a : x)
      variance += (a - mean) * (a - mean) / x.size();
    double eps = op.getEps().convertToDouble();
    Number divisor =
        op.getEpsPlace() == EpsPlace::Inside ? sqrt(variance + eps) : sqrt(variance) + eps;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) / divisor;
      if (!op.getAffine().empty())
        x[i] *= weight(op.getAffine()[0])[i];
      if (op.getAffine().size() > 1)
        x[i] += weight(op.getAffine()[1])[i];
    }
    return x;
  }

  Numbers evaluate(L2NormOp op) {
    using std::fmax;
    Numbers x = of(op.getInput());
    Number divisor = fmax(norm(x), op.getEps().convertToDouble());
    for (Number &a : x)
      a /= divisor;
    return x;
  }

  Numbers evaluate(L2RescaleOp op) {
    Numbers x = of(op.getInput());
    Number length = norm(x), target = norm(of(op.getReference()));
    for (Number &a : x)
      a = length == 0 ? 0 : target / length * a;
    return x;
  }

  Numbers evaluate(SumNormOp op) {
    Numbers x = of(op.getInput());
    Number divisor = sum(x) + op.getEps().convertToDouble();
    for (Number &a : x)
      a /= divisor;
    return x;
  }

  Numbers evaluate(SoftmaxOp op) {
    using std::exp, std::fmax;
    Numbers x = of(op.getInput());
    size_t length = x.size() / op.getGroups();
    for (size_t start = 0; start < x.size(); start += length) {
      Number largest = x[start], total = 0;
      for (size_t i = start; i < start + length; ++i)
        largest = fmax(largest, x[i]);
      for (size_t i = start; i < start + length; ++i)
        total += x[i] = exp(x[i] - largest);
      for (size_t i = start; i < start + length; ++i)
        x[i] /= total;
    }
    return x;
  }

  //===--------------------------------------------------------------------===//
  // Positions
  //===--------------------------------------------------------------------===//

  Numbers evaluate(RopeOp op) {
    using std::cos, std::sin;
    Numbers x = of(op.getInput()), y = x;
    size_t half = op.getDims() / 2;
    double position = environment.position + op.getOffset().convertToDouble();
    for (size_t m = 0; m < half; ++m) {
      Number angle = op.getScale().convertToDouble() * position * weight(op.getFreqs())[m];
      bool readHalves = op.getLayout() == RopeLayout::Half;
      bool writePairs = op.getLayout() == RopeLayout::Interleaved;
      if (op.getInverse()) { // back from where the layout writes to where it reads
        angle = -angle;
        std::tie(readHalves, writePairs) = std::pair(!writePairs, !readHalves);
      }
      Number a = x[readHalves ? m : 2 * m], b = x[readHalves ? m + half : 2 * m + 1];
      Number c = cos(angle), s = sin(angle);
      y[writePairs ? 2 * m : m] = rounded(a * c) - rounded(b * s);
      y[writePairs ? 2 * m + 1 : m + half] = rounded(a * s) + rounded(b * c);
    }
    return y;
  }

  /// The whole table: which of its numbers counts is known of a pair.
  FeatureValue<Number> evaluate(RelativeOp op) {
    using std::exp;
    Numbers table = weight(op.getTable());
    if (op.getLog())
      for (Number &x : table)
        x = rounded(exp(x));
    FeatureValue<Number> result;
    result.numbers = std::move(table);
    result.lags = placeOf(op.getLags());
    return result;
  }

  /// Its vectors are computed before those of a site: they are made of other positions.
  Numbers evaluate(ConvolveOp) { llvm_unreachable("convolutions are no programs of one site"); }

  /// The slope in each number of the table, where the pair's lag is that number's.
  FeatureValue<Number> evaluate(RelativeSlopeOp op) {
    using std::exp;
    Numbers slopes = weight(op.getTable());
    for (Number &x : slopes)
      x = op.getLog() ? rounded(exp(x)) : Number(1);
    FeatureValue<Number> result = FeatureValue<Number>::vector(std::move(slopes));
    result.lags = placeOf(op.getLags());
    return result;
  }

  /// Numbers that an op computes are rounded; a structure is none yet.
  FeatureValue<Number> toValue(Numbers numbers) const {
    for (Number &x : numbers)
      x = rounded(x);
    return FeatureValue<Number>::vector(std::move(numbers));
  }
  FeatureValue<Number> toValue(FeatureValue<Number> value) const { return value; }

private:
  /// The elements that an op looks at. Those of a structure, which nothing has rounded, are numbers
  /// that are computed for it.
  Numbers of(Value value) const {
    const FeatureValue<Number> &elements = structured(value);
    Numbers numbers = expand(elements);
    if (!elements.parts.empty() || elements.factor != 1)
      for (Number &x : numbers)
        x = rounded(x);
    return numbers;
  }
  const FeatureValue<Number> &structured(Value value) const {
    return environment.features.find(value)->second;
  }
  const Numbers &weight(Value value) const {
    return environment.weights.find(value)->second.numbers;
  }
  double rounded(double x) const { return environment.rounding ? environment.rounding(x) : x; }
  Variable rounded(const Variable &x) const { return x; }

  LagPlace placeOf(const LagTable &table) const {
    return {environment.position, table.isTwoSided, table.repeatsLast};
  }

  /// A product or a sum of parts, of which scores are those of the parts.
  FeatureValue<Number> combineParts(Operation *op) const {
    if (op->getNumOperands() == 1)
      return structured(op->getOperand(0));
    FeatureValue<Number> result;
    for (Value operand : op->getOperands())
      result.parts.push_back(structured(operand));
    result.structure = cast<FeatureType>(op->getResult(0).getType()).getStructure();
    return result;
  }

  /// Terms are rounded, as each step of a sum is by about as much.
  Number sum(const Numbers &numbers) const {
    Number total = 0;
    for (const Number &x : numbers)
      total += rounded(x);
    return total;
  }

  static double valueOf(double x) { return x; }
  static double valueOf(const Variable &x) { return x.value; }

  /// Of numbers in units of a power of two: squares of those that only f64 holds leave its range.
  static Number norm(const Numbers &numbers) {
    using std::sqrt;
    double largest = 0;
    for (const Number &x : numbers)
      largest = std::fmax(largest, std::fabs(valueOf(x)));
    bool hasUnit = largest > 0 && std::isfinite(largest);
    double unit = hasUnit ? std::exp2(std::ilogb(largest)) : 1;
    Number total = 0;
    for (const Number &x : numbers)
      total += (x / unit) * (x / unit);
    return sqrt(total) * unit;
  }

  Environment<Number> &environment;
};

} // namespace

template <typename Number>
void reference::evaluateFeatureOp(Operation *op, Environment<Number> &environment) {
  FeatureOps<Number> ops(environment);
  if (auto product = dyn_cast<WeightProductOp>(op)) {
    environment.weights[product.getResult()] = {ops.evaluateWeight(product)};
    return;
  }
  environment.features[op->getResult(0)] =
      dispatch<FeatureValue<Number>>(cast<FeatureOpInterface>(op), [&](auto feature) {
        return ops.toValue(ops.evaluate(feature));
      });
}

template void reference::evaluateFeatureOp(Operation *op, Environment<double> &environment);
template void reference::evaluateFeatureOp(Operation *op, Environment<Variable> &environment);

//===- ProductOps.cpp - products and powers of vectors --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <utility>

using namespace mlir;
using namespace polyattn;

/// The gradients of operands whose selected elements are multiplied: y_i is the product over the
/// slots s of operand s at indices[s][i].
static void addProductGradients(GradientBuilder &g, Value dy, ArrayRef<Value> operands,
                                ArrayRef<SmallVector<int64_t>> indices) {
  SmallVector<Value> factors;
  for (auto [operand, rows] : llvm::zip(operands, indices))
    factors.push_back(operands.size() > 1 ? g.select(operand, rows) : Value());
  for (auto [slot, operand] : llvm::enumerate(operands)) {
    SmallVector<Value> product = {dy};
    for (size_t other = 0; other < operands.size(); ++other)
      if (other != slot)
        product.push_back(factors[other]);
    g.addTo(operand, g.scatter(g.mul(product), indices[slot], widthOf(operand)));
  }
}

static Value weighted(GradientBuilder &g, Value dy, ArrayRef<double> weights) {
  bool isPlain = llvm::all_of(weights, [](double weight) { return weight == 1; });
  return isPlain ? dy : g.mul({dy, g.numbers(weights)});
}

//===----------------------------------------------------------------------===//
// hadamard
//===----------------------------------------------------------------------===//

LogicalResult HadamardOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  return inferBroadcast(context, loc, op.getInputs(), results);
}

FeatureFacts HadamardOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  // A factor that stands several times is a power: an even one is not negative.
  Bounds product = Bounds::ofNumber(1);
  llvm::MapVector<Value, int64_t> counts;
  for (Value input : getInputs())
    ++counts[input];
  for (auto [input, facts] : llvm::zip(getInputs(), vectors))
    if (int64_t count = std::exchange(counts[input], 0))
      product = product * power(facts.bounds, double(count));
  return {sumOfDegrees(vectors), product};
}

std::optional<double> HadamardOp::getFactorOutside(ArrayRef<double> factors) {
  return productOfFactors(factors);
}
std::optional<double> HadamardOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost HadamardOp::getCost() {
  return costOfFlops(double(widthOf(getResult())) * (getNumOperands() - 1));
}
OpFoldResult HadamardOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
/// dy times the product of the others, of those before and those after a factor: never a division.
void HadamardOp::buildGradient(GradientBuilder &g, Value dy) {
  SmallVector<Value> before = {dy};
  for (Value factor : getInputs().drop_back())
    before.push_back(g.mul({before.back(), factor}));
  Value after;
  for (int64_t i = getInputs().size() - 1; i >= 0; --i) {
    Value factor = getInputs()[i];
    g.addTo(factor, after ? g.mul({before[i], after}) : before[i]);
    after = after ? g.mul({factor, after}) : factor;
  }
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

LogicalResult TensorOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  std::vector<Structure> parts;
  if (failed(collectParts(loc, op.getInputs(), parts)))
    return failure();
  return infer(context, results, parts.size() == 1 ? parts[0] : Structure::tensorProduct(parts));
}
FeatureFacts TensorOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {sumOfDegrees(vectors), boundsOfProduct(vectors)};
}
std::optional<double> TensorOp::getFactorOutside(ArrayRef<double> factors) {
  return productOfFactors(factors);
}
std::optional<double> TensorOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
// Whoever needs the features counts their expansion.
FeatureCost TensorOp::getCost() { return {}; }
OpFoldResult TensorOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
/// The features as numbers: each is a product of one element of every operand.
void TensorOp::buildGradient(GradientBuilder &g, Value dy) {
  int64_t width = widthOf(getResult()), repeats = width;
  SmallVector<SmallVector<int64_t>> indices;
  for (Value input : getInputs()) {
    int64_t count = widthOf(input);
    repeats /= count;
    SmallVector<int64_t> &rows = indices.emplace_back();
    for (int64_t i = 0; i < width; ++i)
      rows.push_back(i / repeats % count);
  }
  addProductGradients(g, dy, llvm::to_vector(getInputs()), indices);
}

//===----------------------------------------------------------------------===//
// power
//===----------------------------------------------------------------------===//

LogicalResult PowerOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                        Results &results) {
  int64_t degree = op.getDegree();
  if (degree < 1 || degree > 64)
    return emitOptionalError(loc, "C1: expected a degree between 1 and 64, got ", degree);
  if (cast<FeatureType>(op.getInput().getType()).getCode().size() + 5 > FeatureType::kMaxCode)
    return emitOptionalError(loc, "C3: the result's structure has too many parts");
  Structure base = structureOf(op.getInput());
  if (op.getBlock()) {
    int64_t block = *op.getBlock();
    if (!op.getSymmetric())
      return emitOptionalError(loc, "C2: a block is given with `symmetric` only");
    if (block < 1 || base.width() % block != 0)
      return emitOptionalError(loc, "C2: the block ", block, " does not divide the width ",
                               base.width());
  }
  return infer(context, results,
               op.getSymmetric()
                   ? Structure::symmetricPower(base, degree, op.getBlock().value_or(1))
                   : Structure::tensorPower(base, degree));
}
FeatureFacts PowerOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {multiplyDegree(vectors[0].degree, getDegree()),
          vectors[0].bounds.isNonNegative() ? Bounds::nonNegative() : Bounds()};
}
std::optional<double> PowerOp::getFactorOutside(ArrayRef<double> factors) {
  double factor = raiseFactor(factors[0], getDegree());
  return getAbs() ? std::fabs(factor) : factor;
}
std::optional<double> PowerOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost PowerOp::getCost() { return {}; }
void PowerOp::buildGradient(GradientBuilder &g, Value dy) {
  int64_t width = widthOf(getInput()), degree = getDegree();
  std::vector<Monomial> monomials = getSymmetric()
                                        ? symmetricMonomials(width, degree, getBlock().value_or(1))
                                        : tensorMonomials(width, degree);
  SmallVector<SmallVector<int64_t>> indices(degree);
  SmallVector<double> weights;
  for (const Monomial &monomial : monomials) {
    for (auto [slot, index] : llvm::enumerate(monomial.indices))
      indices[slot].push_back(index);
    weights.push_back(monomial.weight);
  }
  addProductGradients(g, weighted(g, dy, weights), SmallVector<Value>(degree, getInput()), indices);
}

//===----------------------------------------------------------------------===//
// exp_score
//===----------------------------------------------------------------------===//

LogicalResult ExpScoreOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  if (cast<FeatureType>(op.getInput().getType()).getCode().size() + 5 > FeatureType::kMaxCode)
    return emitOptionalError(loc, "C1: the result's structure has too many parts");
  return infer(context, results, Structure::exponential(structureOf(op.getInput())));
}
FeatureFacts ExpScoreOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, Bounds::nonNegative()};
}
std::optional<double> ExpScoreOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> ExpScoreOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost ExpScoreOp::getCost() { return {}; }
/// Attends give the gradients of what is under it: it has no features.
void ExpScoreOp::buildGradient(GradientBuilder &, Value) {}

//===----------------------------------------------------------------------===//
// triu
//===----------------------------------------------------------------------===//

LogicalResult TriuOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                       Results &results) {
  int64_t width = widthOf(op.getLhs());
  if (widthOf(op.getRhs()) != width)
    return emitOptionalError(loc, "C1: expected operands of one width, got ", width, " and ",
                             widthOf(op.getRhs()));
  return inferVector(context, loc, results, binomial(width + 1, 2));
}
FeatureFacts TriuOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  // Their weights are positive.
  return {sumOfDegrees(vectors), boundsOfProduct(vectors).ofSigns()};
}
std::optional<double> TriuOp::getFactorOutside(ArrayRef<double> factors) {
  return productOfFactors(factors);
}
std::optional<double> TriuOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost TriuOp::getCost() { return costOfFlops(widthOf(getResult())); }
void TriuOp::buildGradient(GradientBuilder &g, Value dy) {
  int64_t width = widthOf(getLhs());
  SmallVector<SmallVector<int64_t>> indices(2);
  SmallVector<double> weights;
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = i; j < width; ++j) {
      indices[0].push_back(i);
      indices[1].push_back(j);
      weights.push_back(i != j && getWeights() == TriuWeights::Sqrt2 ? std::sqrt(2.0) : 1.0);
    }
  addProductGradients(g, weighted(g, dy, weights), {getLhs(), getRhs()}, indices);
}

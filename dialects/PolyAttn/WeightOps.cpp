//===- WeightOps.cpp - vectors times constants and weights ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// project, weight_product
//===----------------------------------------------------------------------===//

LogicalResult ProjectOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  int64_t width = widthOf(op.getInput());
  ArrayRef<int64_t> shape = cast<WeightType>(op.getWeight().getType()).getShape();
  bool transposed = op.getTransposed();
  if (shape.size() != 2 || shape[transposed ? 1 : 0] != width)
    return emitOptionalError(loc, "C1: expected a weight matrix with ", width,
                             transposed ? " columns, got " : " rows, got ",
                             op.getWeight().getType());
  int64_t resultWidth = shape[transposed ? 0 : 1];
  if (op.getBias() && failed(checkVectorWeight(loc, "C2", op.getBias(), resultWidth)))
    return failure();
  return inferVector(context, loc, results, resultWidth);
}
FeatureFacts ProjectOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, Bounds()};
}
std::optional<double> ProjectOp::getFactorOutside(ArrayRef<double> factors) {
  return getBias() ? std::nullopt : std::optional(factors[0]);
}
std::optional<double> ProjectOp::getConstantElement(ArrayRef<double> vectors) {
  return !getBias() && vectors[0] == 0 ? std::optional(0.0) : std::nullopt;
}
FeatureCost ProjectOp::getCost() {
  // A projection of a projection is one where that is less.
  ProjectOp merged = mergeableInput(*this);
  double inputWidth = widthOf(merged ? merged.getInput() : getInput());
  double width = widthOf(getResult());
  return costOfFlops(2 * inputWidth * width + (getBias() ? width : 0));
}
void ProjectOp::buildGradient(GradientBuilder &g, Value dy) {
  if (g.wants(getInput()))
    g.addTo(getInput(), g.create<ProjectOp>(dy, getWeight(), /*bias=*/Value(),
                                            /*transposed=*/!getTransposed()));
  getTransposed() ? g.addToMatrix(getWeight(), dy, getInput())
                  : g.addToMatrix(getWeight(), getInput(), dy);
  if (getBias())
    g.addToWeight(getBias(), dy);
}

LogicalResult WeightProductOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                                Results &results) {
  ArrayRef<int64_t> lhs = cast<WeightType>(op.getLhs().getType()).getShape();
  ArrayRef<int64_t> rhs = cast<WeightType>(op.getRhs().getType()).getShape();
  for (Value weight : {op.getLhs(), op.getRhs()})
    if (cast<WeightType>(weight.getType()).getShape().size() != 2)
      return emitOptionalError(loc, "C1: expected a weight matrix, got ", weight.getType());
  if (lhs[1] != rhs[0])
    return emitOptionalError(loc, "C2: expected a weight matrix with ", lhs[1], " rows, got ",
                             op.getRhs().getType());
  results.push_back(WeightType::get(context, {lhs[0], rhs[1]}));
  return success();
}

//===----------------------------------------------------------------------===//
// scale
//===----------------------------------------------------------------------===//

LogicalResult ScaleOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                        Results &results) {
  if (failed(checkFinite(loc, "C1", "the factor", op.getFactor())))
    return failure();
  return infer(context, results, structureOf(op.getInput()));
}
FeatureFacts ScaleOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, vectors[0].bounds * Bounds::ofNumber(getFactor().convertToDouble())};
}
// Its own factor is a part of what leaves.
std::optional<double> ScaleOp::getFactorOutside(ArrayRef<double> factors) {
  return multiplyFactors(factors[0], getFactor().convertToDouble());
}
std::optional<double> ScaleOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
// The factor of a structured vector goes to its leaves, or into another constant.
FeatureCost ScaleOp::getCost() { return costOfFlops(structureOf(getResult()).leafWidth()); }
OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? OpFoldResult(getInput()) : OpFoldResult();
}
void ScaleOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.scale(dy, getFactor().convertToDouble()));
}

//===----------------------------------------------------------------------===//
// add_vec, mul_vec, div_vec
//===----------------------------------------------------------------------===//

static LogicalResult inferVectorWeight(MLIRContext *context, Loc loc, Value input, Value weight,
                                       Results &results) {
  int64_t width = widthOf(input);
  if (failed(checkVectorWeight(loc, "C1", weight, width)))
    return failure();
  return inferVector(context, loc, results, width);
}
static FeatureFacts factsOfWeighted(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, Bounds()};
}

LogicalResult AddVecOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  return inferVectorWeight(context, loc, op.getInput(), op.getWeight(), results);
}
FeatureFacts AddVecOp::getFacts(ArrayRef<FeatureFacts> vectors) { return factsOfWeighted(vectors); }
std::optional<double> AddVecOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> AddVecOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost AddVecOp::getCost() { return costOfFlops(widthOf(getResult())); }
void AddVecOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), dy);
  g.addToWeight(getWeight(), dy);
}

LogicalResult MulVecOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  return inferVectorWeight(context, loc, op.getInput(), op.getWeight(), results);
}
FeatureFacts MulVecOp::getFacts(ArrayRef<FeatureFacts> vectors) { return factsOfWeighted(vectors); }
std::optional<double> MulVecOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> MulVecOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost MulVecOp::getCost() { return costOfFlops(widthOf(getResult())); }
void MulVecOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.create<MulVecOp>(dy, getWeight()));
  if (g.wants(getWeight()))
    g.addToWeight(getWeight(), g.mul({dy, getInput()}));
}

LogicalResult DivVecOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  return inferVectorWeight(context, loc, op.getInput(), op.getWeight(), results);
}
FeatureFacts DivVecOp::getFacts(ArrayRef<FeatureFacts> vectors) { return factsOfWeighted(vectors); }
std::optional<double> DivVecOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> DivVecOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost DivVecOp::getCost() { return costOfFlops(widthOf(getResult())); }
void DivVecOp::buildGradient(GradientBuilder &g, Value dy) {
  Value divided = g.create<DivVecOp>(dy, getWeight());
  g.addTo(getInput(), divided);
  if (g.wants(getWeight()))
    g.addToWeight(getWeight(), g.scale(g.mul({divided, getResult()}), -1));
}

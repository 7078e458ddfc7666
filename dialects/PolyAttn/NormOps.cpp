//===- NormOps.cpp - reductions over a vector and normalizations ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// squared_norm, max
//===----------------------------------------------------------------------===//

LogicalResult SquaredNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor,
                                              Results &results) {
  return inferVector(context, loc, results, 1);
}
FeatureFacts SquaredNormOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {multiplyDegree(vectors[0].degree, 2), /*nonNegative=*/true};
}
std::optional<double> SquaredNormOp::getFactorOutside(ArrayRef<double> factors) {
  return multiplyFactors(factors[0], factors[0]);
}
std::optional<double> SquaredNormOp::getConstantElement(ArrayRef<double> vectors) {
  return vectors[0] * vectors[0] * widthOf(getInput());
}
FeatureCost SquaredNormOp::getCost() { return costOfFlops(2.0 * widthOf(getInput())); }

LogicalResult MaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor, Results &results) {
  return inferVector(context, loc, results, 1);
}
FeatureFacts MaxOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {/*degree=*/std::nullopt, vectors[0].nonNegative};
}
std::optional<double> MaxOp::getFactorOutside(ArrayRef<double> factors) {
  return factors[0] > 0 ? std::optional(factors[0]) : std::nullopt;
}
std::optional<double> MaxOp::getConstantElement(ArrayRef<double> vectors) { return vectors[0]; }
FeatureCost MaxOp::getCost() { return costOfFlops(widthOf(getInput())); }

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                            Results &results) {
  int64_t width = widthOf(op.getInput());
  if (op.getAffine().size() > 2)
    return emitOptionalError(loc, "C1: expected at most a gamma and a beta");
  for (Value weight : op.getAffine())
    if (failed(checkVectorWeight(loc, "C1", weight, width)))
      return failure();
  if (failed(checkEps(loc, "C2", op.getEps())))
    return failure();
  return inferVector(context, loc, results, width);
}
FeatureFacts LayerNormOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, /*nonNegative=*/false};
}
std::optional<double> LayerNormOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> LayerNormOp::getConstantElement(ArrayRef<double>) {
  if (!getAffine().empty())
    return std::nullopt;
  return 0.0 / getEps().convertToDouble(); // the mean is the constant; no number where eps is zero
}
FeatureCost LayerNormOp::getCost() {
  return costOfFlops(double(widthOf(getInput())) * (5 + getAffine().size()));
}

//===----------------------------------------------------------------------===//
// l2_norm, l2_rescale
//===----------------------------------------------------------------------===//

LogicalResult L2NormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  if (failed(checkEps(loc, "C1", op.getEps())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts L2NormOp::getFacts(ArrayRef<FeatureFacts> vectors) { return vectors[0]; }
std::optional<double> L2NormOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> L2NormOp::getConstantElement(ArrayRef<double> vectors) {
  double length = std::fabs(vectors[0]) * std::sqrt(double(widthOf(getInput())));
  return vectors[0] / std::fmax(length, getEps().convertToDouble());
}
FeatureCost L2NormOp::getCost() { return costOfFlops(3.0 * widthOf(getInput())); }

LogicalResult L2RescaleOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                            Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts L2RescaleOp::getFacts(ArrayRef<FeatureFacts> vectors) { return vectors[0]; }
std::optional<double> L2RescaleOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> L2RescaleOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost L2RescaleOp::getCost() {
  return costOfFlops(5.0 * std::max(widthOf(getInput()), widthOf(getReference())));
}

//===----------------------------------------------------------------------===//
// sum_norm, softmax
//===----------------------------------------------------------------------===//

LogicalResult SumNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  if (failed(checkEps(loc, "C1", op.getEps())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts SumNormOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {/*degree=*/std::nullopt, vectors[0].nonNegative};
}
std::optional<double> SumNormOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> SumNormOp::getConstantElement(ArrayRef<double> vectors) {
  return vectors[0] / (vectors[0] * widthOf(getInput()) + getEps().convertToDouble());
}
FeatureCost SumNormOp::getCost() { return costOfFlops(2.0 * widthOf(getInput())); }

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  int64_t width = widthOf(op.getInput()), groups = op.getGroups();
  if (groups < 1 || width % groups != 0)
    return emitOptionalError(loc, "C1: ", groups, " groups do not divide the width ", width);
  return inferVector(context, loc, results, width);
}
FeatureFacts SoftmaxOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, /*nonNegative=*/true};
}
std::optional<double> SoftmaxOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> SoftmaxOp::getConstantElement(ArrayRef<double>) {
  return double(getGroups()) / widthOf(getInput());
}
FeatureCost SoftmaxOp::getCost() {
  double width = widthOf(getInput());
  return {4 * width, /*functions=*/width};
}

//===- NormOps.cpp - reductions over a vector and normalizations ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// sum, squared_norm, max, first_max
//===----------------------------------------------------------------------===//

LogicalResult SumOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor, Results &results) {
  return inferVector(context, loc, results, 1);
}
FeatureFacts SumOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, sum(vectors[0].bounds, widthOf(getInput()))};
}
std::optional<double> SumOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> SumOp::getConstantElement(ArrayRef<double> vectors) {
  return vectors[0] * widthOf(getInput());
}
FeatureCost SumOp::getCost() { return costOfFlops(widthOf(getInput())); }
void SumOp::buildGradient(GradientBuilder &g, Value dy) { g.addTo(getInput(), dy); }

LogicalResult SquaredNormOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor,
                                              Results &results) {
  return inferVector(context, loc, results, 1);
}
FeatureFacts SquaredNormOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {multiplyDegree(vectors[0].degree, 2),
          sum(power(vectors[0].bounds, 2), widthOf(getInput()))};
}
std::optional<double> SquaredNormOp::getFactorOutside(ArrayRef<double> factors) {
  return multiplyFactors(factors[0], factors[0]);
}
std::optional<double> SquaredNormOp::getConstantElement(ArrayRef<double> vectors) {
  return vectors[0] * vectors[0] * widthOf(getInput());
}
FeatureCost SquaredNormOp::getCost() { return costOfFlops(2.0 * widthOf(getInput())); }
void SquaredNormOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.scale(g.mul({dy, getInput()}), 2));
}

LogicalResult MaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor, Results &results) {
  return inferVector(context, loc, results, 1);
}
FeatureFacts MaxOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {/*degree=*/std::nullopt, vectors[0].bounds};
}
std::optional<double> MaxOp::getFactorOutside(ArrayRef<double> factors) {
  return factors[0] > 0 ? std::optional(factors[0]) : std::nullopt;
}
std::optional<double> MaxOp::getConstantElement(ArrayRef<double> vectors) { return vectors[0]; }
FeatureCost MaxOp::getCost() { return costOfFlops(widthOf(getInput())); }
void MaxOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.mul({dy, g.create<FirstMaxOp>(getInput())}));
}

LogicalResult FirstMaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts FirstMaxOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, Bounds{0, 1}};
}
std::optional<double> FirstMaxOp::getFactorOutside(ArrayRef<double> factors) {
  return factors[0] > 0 ? std::optional(1.0) : std::nullopt;
}
std::optional<double> FirstMaxOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost FirstMaxOp::getCost() { return costOfFlops(2.0 * widthOf(getInput())); }
void FirstMaxOp::buildGradient(GradientBuilder &, Value) {}

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
  return {vectors[0].degree, Bounds()};
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
/// With xh = (a - mean) / d and dxh = gamma dy, the gradient of a - mean is dxh / d less what d has
/// to do with it: xh <dxh, xh> / (n d), where d = sqrt(var + eps), or xh <dxh, xh> / (n sqrt(var)),
/// where d = sqrt(var) + eps. That of a is the same less its mean.
void LayerNormOp::buildGradient(GradientBuilder &g, Value dy) {
  double n = widthOf(getInput()), eps = getEps().convertToDouble();
  bool inside = getEpsPlace() == EpsPlace::Inside;
  Value mean = g.scale(g.sum(getInput()), 1 / n);
  Value centered = g.sub(getInput(), mean);
  Value variance = g.scale(g.create<SquaredNormOp>(centered), 1 / n);
  // Where all elements are equal the deviation is 0, and so is xh.
  APFloat tiny = smallestNormal();
  Value deviation = g.create<ClampMinOp>(g.power(variance, 0.5), tiny);
  Value inverse =
      inside ? g.power(g.addConst(variance, eps), -0.5) : g.power(g.addConst(deviation, eps), -1);
  Value unit = g.mul({centered, inverse});
  if (!getAffine().empty())
    g.addToWeight(getAffine()[0], g.mul({dy, unit}));
  if (getAffine().size() > 1)
    g.addToWeight(getAffine()[1], dy);
  if (!g.wants(getInput()))
    return;
  Value scaled = getAffine().empty() ? dy : g.create<MulVecOp>(dy, getAffine()[0]).getResult();
  Value stretch = inside ? inverse : g.power(deviation, -1);
  Value along = g.scale(g.mul({unit, g.dot(scaled, unit), stretch}), 1 / n);
  Value gradient = g.sub(g.mul({scaled, inverse}), along);
  g.addTo(getInput(), g.sub(gradient, g.scale(g.sum(gradient), 1 / n)));
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
FeatureFacts L2NormOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, ofUnitVector(vectors[0].bounds)};
}
std::optional<double> L2NormOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> L2NormOp::getConstantElement(ArrayRef<double> vectors) {
  double length = std::fabs(vectors[0]) * std::sqrt(double(widthOf(getInput())));
  return vectors[0] / std::fmax(length, getEps().convertToDouble());
}
FeatureCost L2NormOp::getCost() { return costOfFlops(3.0 * widthOf(getInput())); }
/// (dy - y <y, dy>) / |a|, or dy / eps where the floor holds. The length is <y, a>, which has no
/// squares that leave the range, and is below eps where the floor holds.
void L2NormOp::buildGradient(GradientBuilder &g, Value dy) {
  Value length = g.dot(getResult(), getInput());
  Value inverse = g.power(g.create<ClampMinOp>(length, getEps()), -1);
  Value isFree = g.create<IsAboveOp>(length, getEps());
  Value along = g.mul({getResult(), g.dot(getResult(), dy), isFree});
  g.addTo(getInput(), g.mul({g.sub(dy, along), inverse}));
}

LogicalResult L2RescaleOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                            Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts L2RescaleOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, vectors[0].bounds.ofSigns()};
}
std::optional<double> L2RescaleOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> L2RescaleOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost L2RescaleOp::getCost() {
  return costOfFlops(5.0 * std::max(widthOf(getInput()), widthOf(getReference())));
}
/// With u = a / |a|: da = |r| / |a| (dy - u <u, dy>), dr = <u, dy> r / |r|; both are 0 where their
/// vector is: 0 is a factor before those that may be too large for a product. Lengths are <u, a>.
void L2RescaleOp::buildGradient(GradientBuilder &g, Value dy) {
  APFloat tiny = smallestNormal();
  Value unit = g.create<L2NormOp>(getInput(), tiny);
  Value along = g.dot(unit, dy), direction = g.create<L2NormOp>(getReference(), tiny);
  if (g.wants(getInput())) {
    Value length = g.dot(unit, getInput()), target = g.dot(direction, getReference());
    Value inverse = g.power(g.create<ClampMinOp>(length, tiny), -1);
    Value isFree = g.create<IsAboveOp>(length, tiny);
    Value ratio = g.mul({isFree, target, inverse});
    g.addTo(getInput(), g.mul({g.sub(dy, g.mul({unit, along})), ratio}));
  }
  if (g.wants(getReference()))
    g.addTo(getReference(), g.mul({direction, along}));
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
  // Elements of both signs may have any sum.
  return {/*degree=*/std::nullopt, vectors[0].bounds.isNonNegative() ? Bounds{0, 1} : Bounds()};
}
std::optional<double> SumNormOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> SumNormOp::getConstantElement(ArrayRef<double> vectors) {
  return vectors[0] / (vectors[0] * widthOf(getInput()) + getEps().convertToDouble());
}
FeatureCost SumNormOp::getCost() { return costOfFlops(2.0 * widthOf(getInput())); }
void SumNormOp::buildGradient(GradientBuilder &g, Value dy) {
  Value inverse = g.power(g.addConst(g.sum(getInput()), getEps().convertToDouble()), -1);
  g.addTo(getInput(), g.mul({g.sub(dy, g.dot(getResult(), dy)), inverse}));
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  int64_t width = widthOf(op.getInput()), groups = op.getGroups();
  if (groups < 1 || width % groups != 0)
    return emitOptionalError(loc, "C1: ", groups, " groups do not divide the width ", width);
  return inferVector(context, loc, results, width);
}
FeatureFacts SoftmaxOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, Bounds{0, 1}};
}
std::optional<double> SoftmaxOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> SoftmaxOp::getConstantElement(ArrayRef<double>) {
  return double(getGroups()) / widthOf(getInput());
}
FeatureCost SoftmaxOp::getCost() {
  double width = widthOf(getInput());
  return {4 * width, /*functions=*/width};
}
/// y (dy - <y, dy>), group by group.
void SoftmaxOp::buildGradient(GradientBuilder &g, Value dy) {
  int64_t width = widthOf(getInput()), groups = getGroups(), length = width / groups;
  Value weighted = g.mul({getResult(), dy}), mean;
  if (groups == 1) {
    mean = g.sum(weighted);
  } else {
    SmallVector<Value> sums;
    SmallVector<int64_t> group;
    for (int64_t i = 0; i < groups; ++i) {
      sums.push_back(g.sum(g.slice(weighted, i * length, length)));
      group.append(length, i);
    }
    mean = g.select(g.create<ConcatOp>(sums), group);
  }
  g.addTo(getInput(), g.mul({getResult(), g.sub(dy, mean)}));
}

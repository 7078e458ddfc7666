//===- ElementwiseOps.cpp - element-wise functions of one vector ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are never a polynomial say all of themselves in ElementwiseOps.td
// (PolyAttn_FunctionOp); these know more of their results.
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Factors.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;

/// The facts of a function that gives back numbers from `lowest` on, and raises those below it.
static FeatureFacts factsOfFloor(const FeatureFacts &input, double lowest) {
  // The zero with a minus is raised to 0.
  double lower = input.bounds.lower;
  bool changesNothing = lowest <= lower && (lower != 0 || input.bounds.isNonNegative());
  return {changesNothing ? input.degree : std::nullopt,
          changesNothing ? input.bounds : Bounds{lowest, std::fmax(input.bounds.upper, lowest)}};
}

//===----------------------------------------------------------------------===//
// relu
//===----------------------------------------------------------------------===//

LogicalResult ReluOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                       Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts ReluOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return factsOfFloor(vectors[0], /*lowest=*/0);
}
std::optional<double> ReluOp::getFactorOutside(ArrayRef<double> factors) {
  return factors[0] > 0 ? std::optional(factors[0]) : std::nullopt;
}
std::optional<double> ReluOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost ReluOp::getCost() { return costOfFlops(widthOf(getResult())); }
void ReluOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.mul({dy, g.create<IsAboveOp>(getInput(), APFloat(0.0))}));
}
OpFoldResult ReluOp::fold(FoldAdaptor) {
  return isNonNegativeNearby(getInput()) ? foldTo(*this, getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// abs
//===----------------------------------------------------------------------===//

LogicalResult AbsOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op, Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts AbsOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  Bounds input = vectors[0].bounds;
  return {input.isNonNegative() ? vectors[0].degree : std::nullopt, magnitude(input)};
}
std::optional<double> AbsOp::getFactorOutside(ArrayRef<double> factors) {
  return std::fabs(factors[0]);
}
std::optional<double> AbsOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost AbsOp::getCost() { return costOfFlops(widthOf(getResult())); }
void AbsOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.mul({dy, g.create<SignOp>(getInput())}));
}
OpFoldResult AbsOp::fold(FoldAdaptor) {
  return isNonNegativeNearby(getInput()) ? foldTo(*this, getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// sign, is_above
//===----------------------------------------------------------------------===//

LogicalResult SignOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                       Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts SignOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {/*degree=*/std::nullopt, ofUnitVector(vectors[0].bounds)};
}
std::optional<double> SignOp::getFactorOutside(ArrayRef<double> factors) {
  return factors[0] > 0 ? std::optional(1.0) : std::nullopt;
}
std::optional<double> SignOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost SignOp::getCost() { return costOfFlops(widthOf(getResult())); }
void SignOp::buildGradient(GradientBuilder &, Value) {}

LogicalResult IsAboveOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  if (failed(checkFinite(loc, "C1", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts IsAboveOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, Bounds{0, 1}};
}
std::optional<double> IsAboveOp::getFactorOutside(ArrayRef<double> factors) {
  return getValue().isZero() && factors[0] > 0 ? std::optional(1.0) : std::nullopt;
}
std::optional<double> IsAboveOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost IsAboveOp::getCost() { return costOfFlops(widthOf(getResult())); }
void IsAboveOp::buildGradient(GradientBuilder &, Value) {}

//===----------------------------------------------------------------------===//
// log
//===----------------------------------------------------------------------===//

LogicalResult LogOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op, Results &results) {
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts LogOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  // Below 0 there is no logarithm.
  Bounds positive = factsOfFloor(vectors[0], /*lowest=*/0).bounds;
  return {/*degree=*/std::nullopt, valuesOfIncreasing(*this, positive)};
}
std::optional<double> LogOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> LogOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost LogOp::getCost() { return costOfFunctions(widthOf(getResult())); }
void LogOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.mul({dy, g.power(getInput(), -1)}));
}

//===----------------------------------------------------------------------===//
// clamp_min
//===----------------------------------------------------------------------===//

LogicalResult ClampMinOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  if (failed(checkFinite(loc, "C1", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts ClampMinOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return factsOfFloor(vectors[0], getValue().convertToDouble());
}
std::optional<double> ClampMinOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> ClampMinOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost ClampMinOp::getCost() { return costOfFlops(widthOf(getResult())); }
void ClampMinOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.mul({dy, g.create<IsAboveOp>(getInput(), getValue())}));
}
OpFoldResult ClampMinOp::fold(FoldAdaptor) {
  bool isIdentity = isNonNegativeNearby(getInput()) && getValue().convertToDouble() <= 0;
  return isIdentity ? foldTo(*this, getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// add_const
//===----------------------------------------------------------------------===//

LogicalResult AddConstOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  if (failed(checkFinite(loc, "C1", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, widthOf(op.getInput()));
}
FeatureFacts AddConstOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, vectors[0].bounds + Bounds::ofNumber(getValue().convertToDouble())};
}
std::optional<double> AddConstOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> AddConstOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost AddConstOp::getCost() { return costOfFlops(widthOf(getResult())); }
void AddConstOp::buildGradient(GradientBuilder &g, Value dy) { g.addTo(getInput(), dy); }
OpFoldResult AddConstOp::fold(FoldAdaptor) {
  return getValue().isZero() ? foldTo(*this, getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// pow
//===----------------------------------------------------------------------===//

LogicalResult PowOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op, Results &results) {
  if (op.getExponent().has_value() == bool(op.getExponents()))
    return emitOptionalError(loc, "C1: expected either an `exponent` or an exponent operand");
  if (op.getExponent() && failed(checkFinite(loc, "C3", "the exponent", *op.getExponent())))
    return failure();
  int64_t width = widthOf(op.getInput());
  if (op.getExponents() && isa<FeatureType>(op.getExponents().getType())) {
    if (widthOf(op.getExponents()) != width)
      return emitOptionalError(loc, "C2: expected exponents as wide as the input, ", width,
                               ", got ", widthOf(op.getExponents()));
  } else if (op.getExponents() && failed(checkVectorWeight(loc, "C2", op.getExponents(), width))) {
    return failure();
  }
  return inferVector(context, loc, results, width);
}

FeatureFacts PowOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  const FeatureFacts &input = vectors[0];
  if (!getExponent())
    return {std::nullopt, input.bounds.isNonNegative() ? Bounds::nonNegative() : Bounds()};
  double exponent = getExponent()->convertToDouble();
  bool whole = exponent >= 0 && exponent < 1024 && exponent == std::floor(exponent);
  return {whole ? multiplyDegree(input.degree, int64_t(exponent)) : std::nullopt,
          power(input.bounds, exponent)};
}

std::optional<double> PowOp::getFactorOutside(ArrayRef<double> factors) {
  if (!getExponent())
    return std::nullopt;
  double exponent = getExponent()->convertToDouble();
  bool isWhole = exponent >= 0 && exponent == std::floor(exponent);
  return isWhole ? std::optional(raiseFactor(factors[0], exponent)) : std::nullopt;
}

std::optional<double> PowOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost PowOp::getCost() { return costOfFunctions(widthOf(getResult())); }
/// da = e a^(e-1) dy, de = a^e log(a) dy. Where a is 0 the power is 0, too, and so is de: the
/// logarithm is of a number that f32 has.
void PowOp::buildGradient(GradientBuilder &g, Value dy) {
  if (getExponent()) {
    double exponent = getExponent()->convertToDouble();
    if (exponent != 0)
      g.addTo(getInput(), g.scale(g.mul({dy, g.power(getInput(), exponent - 1)}), exponent));
    return;
  }
  bool isWeight = isa<WeightType>(getExponents().getType());
  if (g.wants(getInput())) {
    Value exponents = isWeight ? g.vectorOf(getExponents()) : getExponents();
    Value slope = g.create<PowOp>(getInput(), g.addConst(exponents, -1), FloatAttr());
    g.addTo(getInput(), g.mul({dy, exponents, slope}));
  }
  if (!g.wants(getExponents()))
    return;
  APFloat tiny = smallestNormal();
  Value logarithm = g.create<LogOp>(g.create<ClampMinOp>(getInput(), tiny));
  Value gradient = g.mul({dy, getResult(), logarithm});
  isWeight ? g.addToWeight(getExponents(), gradient) : g.addTo(getExponents(), gradient);
}
OpFoldResult PowOp::fold(FoldAdaptor) {
  bool isIdentity = getExponent() && getExponent()->isExactlyValue(1.0);
  return isIdentity ? foldTo(*this, getInput()) : OpFoldResult();
}

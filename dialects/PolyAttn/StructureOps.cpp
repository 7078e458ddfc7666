//===- StructureOps.cpp - sums, parts and constants -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// add
//===----------------------------------------------------------------------===//

LogicalResult AddOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op, Results &results) {
  return inferBroadcast(context, loc, op.getInputs(), results);
}
FeatureFacts AddOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  Bounds sum = vectors[0].bounds;
  for (const FeatureFacts &other : vectors.drop_front())
    sum = sum + other.bounds;
  return {largestDegree(vectors), sum};
}
std::optional<double> AddOp::getFactorOutside(ArrayRef<double> factors) {
  return commonFactor(factors);
}
std::optional<double> AddOp::getConstantElement(ArrayRef<double> vectors) {
  return evaluateConstant(*this, vectors);
}
FeatureCost AddOp::getCost() {
  return costOfFlops(double(widthOf(getResult())) * (getNumOperands() - 1));
}
OpFoldResult AddOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
void AddOp::buildGradient(GradientBuilder &g, Value dy) {
  for (Value input : getInputs())
    g.addTo(input, dy);
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  std::vector<Structure> parts;
  if (failed(collectParts(loc, op.getInputs(), parts)))
    return failure();
  return infer(context, results, parts.size() == 1 ? parts[0] : Structure::concat(parts));
}
FeatureFacts ConcatOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  Bounds elements = vectors[0].bounds;
  for (const FeatureFacts &other : vectors.drop_front())
    elements = either(elements, other.bounds);
  return {largestDegree(vectors), elements};
}
std::optional<double> ConcatOp::getFactorOutside(ArrayRef<double> factors) {
  return commonFactor(factors);
}
std::optional<double> ConcatOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost ConcatOp::getCost() { return {}; }
OpFoldResult ConcatOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }
void ConcatOp::buildGradient(GradientBuilder &g, Value dy) {
  int64_t first = 0;
  for (Value input : getInputs()) {
    g.addTo(input, g.slice(dy, first, widthOf(input)));
    first += widthOf(input);
  }
}

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  int64_t width = op.getWidth();
  if (width < 1)
    return emitOptionalError(loc, "C1: expected a positive width, got ", width);
  if (failed(checkFinite(loc, "C2", "the value", op.getValue())))
    return failure();
  return inferVector(context, loc, results, width);
}
FeatureFacts ConstantOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/0, Bounds::ofNumber(getValue().convertToDouble())};
}
std::optional<double> ConstantOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> ConstantOp::getConstantElement(ArrayRef<double>) {
  return getValue().convertToDouble();
}
FeatureCost ConstantOp::getCost() { return {}; }
void ConstantOp::buildGradient(GradientBuilder &, Value) {}

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                         Results &results) {
  int64_t width = widthOf(op.getInput());
  if (op.getIndices().empty())
    return emitOptionalError(loc, "C1: expected at least one index");
  for (int64_t index : op.getIndices())
    if (index < 0 || index >= width)
      return emitOptionalError(loc, "C1: index ", index, " is outside a vector of ", width);
  return inferVector(context, loc, results, op.getIndices().size());
}
FeatureFacts SelectOp::getFacts(ArrayRef<FeatureFacts> vectors) { return vectors[0]; }
std::optional<double> SelectOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> SelectOp::getConstantElement(ArrayRef<double> vectors) { return vectors[0]; }
FeatureCost SelectOp::getCost() { return {}; }
OpFoldResult SelectOp::fold(FoldAdaptor) {
  bool isIdentity = llvm::equal(getIndices(), llvm::seq<int64_t>(0, widthOf(getInput())));
  return isIdentity ? foldTo(*this, getInput()) : OpFoldResult();
}
void SelectOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.scatter(dy, getIndices(), widthOf(getInput())));
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                          Results &results) {
  int64_t width = op.getWidth(), count = widthOf(op.getInput());
  if (width < 1)
    return emitOptionalError(loc, "C1: expected a positive width, got ", width);
  if (int64_t(op.getIndices().size()) != count)
    return emitOptionalError(loc, "C2: expected an index for each of the ", count,
                             " elements, got ", op.getIndices().size());
  for (int64_t index : op.getIndices())
    if (index < 0 || index >= width)
      return emitOptionalError(loc, "C2: index ", index, " is outside a vector of ", width);
  return inferVector(context, loc, results, width);
}
// Elements are sums of those that have one index, or zeros.
FeatureFacts ScatterOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, either(vectors[0].bounds.ofSigns(), Bounds::ofNumber(0))};
}
std::optional<double> ScatterOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> ScatterOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost ScatterOp::getCost() { return costOfFlops(widthOf(getInput())); }
void ScatterOp::buildGradient(GradientBuilder &g, Value dy) {
  g.addTo(getInput(), g.select(dy, getIndices()));
}

//===- FeatureOpRules.cpp - what families of feature ops share ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/Factors.h"

using namespace mlir;
using namespace polyattn;

Structure polyattn::structureOf(Value vector) {
  return cast<FeatureType>(vector.getType()).getStructure();
}

int64_t polyattn::widthOf(Value vector) { return cast<FeatureType>(vector.getType()).getWidth(); }

//===----------------------------------------------------------------------===//
// Results and constraints
//===----------------------------------------------------------------------===//

LogicalResult polyattn::infer(MLIRContext *context, Results &results, const Structure &structure) {
  results.push_back(FeatureType::get(context, structure));
  return success();
}

LogicalResult polyattn::inferVector(MLIRContext *context, Loc loc, Results &results,
                                    int64_t width) {
  if (width > FeatureType::kMaxVector)
    return emitOptionalError(loc, "a vector of ", width,
                             " features is too wide to be formed; only the scores of tensor and "
                             "symmetric powers need no features");
  return infer(context, results, Structure::vector(width));
}

LogicalResult polyattn::inferBroadcast(MLIRContext *context, Loc loc, ValueRange inputs,
                                       Results &results) {
  if (inputs.empty())
    return emitOptionalError(loc, "C1: expected at least one operand");
  int64_t width = 1;
  for (Value input : inputs)
    width = std::max(width, widthOf(input));
  for (Value input : inputs)
    if (widthOf(input) != width && widthOf(input) != 1)
      return emitOptionalError(loc, "C1: expected operands of one width, got ", widthOf(input),
                               " and ", width);
  return inferVector(context, loc, results, width);
}

LogicalResult polyattn::collectParts(Loc loc, ValueRange inputs, std::vector<Structure> &parts) {
  if (inputs.empty())
    return emitOptionalError(loc, "C1: expected at least one operand");
  size_t size = 0;
  for (Value input : inputs)
    size += cast<FeatureType>(input.getType()).getCode().size();
  if (size + 5 > FeatureType::kMaxCode)
    return emitOptionalError(loc, "C2: the result's structure has too many parts");
  for (Value input : inputs)
    parts.push_back(structureOf(input));
  return success();
}

LogicalResult polyattn::checkFinite(Loc loc, StringRef constraint, StringRef name,
                                    const llvm::APFloat &number) {
  if (!number.isFinite())
    return emitOptionalError(loc, constraint, ": ", name, " must be finite");
  return success();
}

LogicalResult polyattn::checkEps(Loc loc, StringRef constraint, const llvm::APFloat &eps) {
  if (eps.isNegative() || !eps.isFinite())
    return emitOptionalError(loc, constraint, ": eps must be finite and not negative");
  return success();
}

LogicalResult polyattn::checkVectorWeight(Loc loc, StringRef constraint, Value weight,
                                          int64_t width) {
  ArrayRef<int64_t> shape = cast<WeightType>(weight.getType()).getShape();
  if (shape.size() != 1 || shape[0] != width)
    return emitOptionalError(loc, constraint, ": expected a weight vector of ", width,
                             " numbers, got ", weight.getType());
  return success();
}

LogicalResult polyattn::verifyArgument(Operation *op, StringRef expected, Value weight) {
  Operation *definition = weight.getDefiningOp();
  if (definition && !isa<ReadOp>(definition))
    return op->emitOpError(expected)
           << " that is an argument, got the result of " << definition->getName();
  return success();
}

//===----------------------------------------------------------------------===//
// Facts and factors
//===----------------------------------------------------------------------===//

std::optional<int64_t> polyattn::sumOfDegrees(ArrayRef<FeatureFacts> vectors) {
  int64_t sum = 0;
  for (const FeatureFacts &facts : vectors) {
    if (!facts.degree)
      return std::nullopt;
    sum = saturatingAdd(sum, *facts.degree);
  }
  return sum;
}

std::optional<int64_t> polyattn::largestDegree(ArrayRef<FeatureFacts> vectors) {
  int64_t largest = 0;
  for (const FeatureFacts &facts : vectors) {
    if (!facts.degree)
      return std::nullopt;
    largest = std::max(largest, *facts.degree);
  }
  return largest;
}

std::optional<int64_t> polyattn::multiplyDegree(std::optional<int64_t> degree, int64_t exponent) {
  return degree ? std::optional(saturatingMul(*degree, exponent)) : std::nullopt;
}

Bounds polyattn::boundsOfProduct(ArrayRef<FeatureFacts> vectors) {
  Bounds product = Bounds::ofNumber(1);
  for (const FeatureFacts &facts : vectors)
    product = product * facts.bounds;
  return product;
}

double polyattn::productOfFactors(ArrayRef<double> factors) {
  double product = 1;
  for (double factor : factors)
    product = multiplyFactors(product, factor);
  return product;
}

std::optional<double> polyattn::commonFactor(ArrayRef<double> factors) {
  return llvm::all_equal(factors) ? std::optional(factors[0]) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

OpFoldResult polyattn::foldTo(Operation *op, Value value) {
  return value.getType() == op->getResult(0).getType() ? OpFoldResult(value) : OpFoldResult();
}

OpFoldResult polyattn::foldSingleOperand(Operation *op) {
  return op->getNumOperands() == 1 ? foldTo(op, op->getOperand(0)) : OpFoldResult();
}

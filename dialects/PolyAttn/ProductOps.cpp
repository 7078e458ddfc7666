//===- ProductOps.cpp - products and powers of vectors --------------------===//
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
// hadamard
//===----------------------------------------------------------------------===//

LogicalResult HadamardOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  return inferBroadcast(context, loc, op.getInputs(), results);
}

FeatureFacts HadamardOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  // Factors that stand an even number of times are squares.
  bool othersAreSquares = llvm::all_of(llvm::zip(vectors, getInputs()), [&](auto factor) {
    auto [facts, input] = factor;
    return facts.nonNegative || llvm::count(getInputs(), input) % 2 == 0;
  });
  return {sumOfDegrees(vectors), othersAreSquares};
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
  return {sumOfDegrees(vectors), areNonNegative(vectors)};
}
std::optional<double> TensorOp::getFactorOutside(ArrayRef<double> factors) {
  return productOfFactors(factors);
}
std::optional<double> TensorOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
// Whoever needs the features counts their expansion.
FeatureCost TensorOp::getCost() { return {}; }
OpFoldResult TensorOp::fold(FoldAdaptor) { return foldSingleOperand(*this); }

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
  return {multiplyDegree(vectors[0].degree, getDegree()), vectors[0].nonNegative};
}
std::optional<double> PowerOp::getFactorOutside(ArrayRef<double> factors) {
  double factor = raiseFactor(factors[0], getDegree());
  return getAbs() ? std::fabs(factor) : factor;
}
std::optional<double> PowerOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost PowerOp::getCost() { return {}; }

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
  return {sumOfDegrees(vectors), areNonNegative(vectors)};
}
std::optional<double> TriuOp::getFactorOutside(ArrayRef<double> factors) {
  return productOfFactors(factors);
}
std::optional<double> TriuOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost TriuOp::getCost() { return costOfFlops(widthOf(getResult())); }

//===- FeatureOpRules.h - what families of feature ops share ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_FEATUREOPRULES_H
#define POLYATTN_DIALECTS_FEATUREOPRULES_H

#include "dialects/PolyAttn/PolyAttn.h"
#include <limits>

namespace polyattn {

Structure structureOf(mlir::Value vector);
int64_t widthOf(mlir::Value vector);

//===----------------------------------------------------------------------===//
// Results and constraints
//===----------------------------------------------------------------------===//
//
// Inference and verification are one: each op's numbered constraints (C1, C2, ...)
// are checked where its result type is inferred.

using Loc = std::optional<mlir::Location>;
using Results = llvm::SmallVectorImpl<mlir::Type>;

llvm::LogicalResult infer(mlir::MLIRContext *context, Results &results, const Structure &structure);
/// A plain vector, which unlike a product or a power exists in full.
llvm::LogicalResult inferVector(mlir::MLIRContext *context, Loc loc, Results &results,
                                int64_t width);
/// Operands of one width, or of width 1, which is repeated.
llvm::LogicalResult inferBroadcast(mlir::MLIRContext *context, Loc loc, mlir::ValueRange inputs,
                                   Results &results);
/// The structures of operands that become one structure, which must not grow too long.
llvm::LogicalResult collectParts(Loc loc, mlir::ValueRange inputs, std::vector<Structure> &parts);

llvm::LogicalResult checkFinite(Loc loc, llvm::StringRef constraint, llvm::StringRef name,
                                const llvm::APFloat &number);
llvm::LogicalResult checkEps(Loc loc, llvm::StringRef constraint, const llvm::APFloat &eps);
/// The weight is a vector as wide as the input.
llvm::LogicalResult checkVectorWeight(Loc loc, llvm::StringRef constraint, mlir::Value weight,
                                      int64_t width);

/// A weight that must be read from an argument, or be a map's. The error begins with `expected`.
llvm::LogicalResult verifyArgument(mlir::Operation *op, llvm::StringRef expected,
                                   mlir::Value weight);

//===----------------------------------------------------------------------===//
// Facts, constants and costs
//===----------------------------------------------------------------------===//

/// The degree of a product of vectors, and that of a sum; none where one of them has none.
std::optional<int64_t> sumOfDegrees(llvm::ArrayRef<FeatureFacts> vectors);
std::optional<int64_t> largestDegree(llvm::ArrayRef<FeatureFacts> vectors);
/// The degree of a vector to the power of `exponent`.
std::optional<int64_t> multiplyDegree(std::optional<int64_t> degree, int64_t exponent);
/// The bounds of a product of one element of each vector.
Bounds boundsOfProduct(llvm::ArrayRef<FeatureFacts> vectors);

/// The product of factors, and their common value.
double productOfFactors(llvm::ArrayRef<double> factors);
std::optional<double> commonFactor(llvm::ArrayRef<double> factors);

/// The constant element of an element-wise op: what it means, where no weight takes part.
template <typename Op>
std::optional<double> evaluateConstant(Op op, llvm::ArrayRef<double> vectors) {
  if (vectors.size() != op->getNumOperands())
    return std::nullopt;
  return op.evaluateElement(vectors, [](double x) { return x; });
}

/// The bounds of an element-wise function of one vector that never falls.
template <typename Op> Bounds valuesOfIncreasing(Op op, Bounds argument) {
  return ofIncreasing(argument,
                      [&](double a) { return op.evaluateElement(a, [](double x) { return x; }); });
}

inline FeatureCost costOfFlops(double flops) { return {flops, /*functions=*/0}; }
inline FeatureCost costOfFunctions(int64_t count) { return {double(count), double(count)}; }

/// The smallest number that keeps all digits in f32, what stands for zero under a division.
inline llvm::APFloat smallestNormal() {
  return llvm::APFloat(double(std::numeric_limits<float>::min()));
}
//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// The value where it has the op's type: structures may differ where widths agree.
mlir::OpFoldResult foldTo(mlir::Operation *op, mlir::Value value);
/// The operand where there is one only.
mlir::OpFoldResult foldSingleOperand(mlir::Operation *op);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_FEATUREOPRULES_H

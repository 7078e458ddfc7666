//===- PositionOps.cpp - vectors that depend on the position --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"

using namespace mlir;
using namespace polyattn;

LogicalResult RopeOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                       Results &results) {
  int64_t width = widthOf(op.getInput()), dims = op.getDims();
  if (dims < 2 || dims % 2 != 0 || dims > width)
    return emitOptionalError(loc, "C1: expected an even `dims` between 2 and ", width, ", got ",
                             dims);
  if (failed(checkVectorWeight(loc, "C2", op.getFreqs(), dims / 2)) ||
      failed(checkFinite(loc, "C3", "the offset", op.getOffset())) ||
      failed(checkFinite(loc, "C3", "the scale", op.getScale())))
    return failure();
  return inferVector(context, loc, results, width);
}
FeatureFacts RopeOp::getFacts(ArrayRef<FeatureFacts> vectors) {
  return {vectors[0].degree, Bounds()};
}
std::optional<double> RopeOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> RopeOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost RopeOp::getCost() { return costOfFlops(3.0 * getDims()); }
/// A rotation's transpose is the rotation back.
void RopeOp::buildGradient(GradientBuilder &g, Value dy) {
  if (g.wants(getFreqs()))
    g.refuse(*this, "has no gradient for its frequencies");
  g.addTo(getInput(), g.create<RopeOp>(dy, getFreqs(), getLayout(), getDims(), getOffset(),
                                       getScale(), /*inverse=*/!getInverse()));
}

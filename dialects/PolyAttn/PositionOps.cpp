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

//===----------------------------------------------------------------------===//
// relative
//===----------------------------------------------------------------------===//

/// The numbers of a table; none where it is no table.
static FailureOr<int64_t> countLags(Loc loc, Value table, bool isTwoSided) {
  ArrayRef<int64_t> shape = cast<WeightType>(table.getType()).getShape();
  if (shape.size() != 1 || shape[0] > LagTable::kMaxCount)
    return emitOptionalError(loc, "C1: expected a table of 1 to ", LagTable::kMaxCount,
                             " numbers, one for each lag, got ", table.getType());
  if (isTwoSided && shape[0] % 2 == 0)
    return emitOptionalError(loc,
                             "C1: a two-sided table has as many lags before 0 as after it, so "
                             "that their number is odd; got ",
                             shape[0]);
  return shape[0];
}

template <typename Op> static LagTable tableOf(Op op) {
  int64_t count = op.getTable().getType().getShape()[0];
  return {op.getTable(),
          count,
          op.getTwoSided() ? count / 2 : 0,
          op.getTwoSided(),
          op.getLog(),
          op.getBeyond() == Beyond::Last,
          op.getBeyond() == Beyond::Error};
}

static LogicalResult verifyTable(Operation *op, Value table) {
  return verifyArgument(op, "C2: expected a table", table);
}

LogicalResult RelativeOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  if (failed(countLags(loc, op.getTable(), op.getTwoSided())))
    return failure();
  return inferVector(context, loc, results, 1);
}

LogicalResult RelativeOp::verify() { return verifyTable(*this, getTable()); }
LagTable RelativeOp::getLags() { return tableOf(*this); }

FeatureFacts RelativeOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/0, getLog() ? Bounds::nonNegative() : Bounds()};
}
std::optional<double> RelativeOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> RelativeOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost RelativeOp::getCost() { return {}; }
/// Attends give no gradient of it: it has no vectors.
void RelativeOp::buildGradient(GradientBuilder &, Value) {}

//===----------------------------------------------------------------------===//
// relative_slope
//===----------------------------------------------------------------------===//

LogicalResult RelativeSlopeOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                                Results &results) {
  FailureOr<int64_t> count = countLags(loc, op.getTable(), op.getTwoSided());
  if (failed(count))
    return failure();
  return inferVector(context, loc, results, *count);
}

LogicalResult RelativeSlopeOp::verify() {
  for (OpOperand &use : getResult().getUses()) {
    auto attend = dyn_cast<AttendOp>(use.getOwner());
    if (!attend || attend.getQuery() == getResult() || attend.getKey() == getResult())
      return emitOpError("C2: only attends take it, as value, but ")
             << use.getOwner()->getName() << " uses it";
  }
  return verifyTable(*this, getTable());
}

LagTable RelativeSlopeOp::getLags() { return tableOf(*this); }
FeatureFacts RelativeSlopeOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, Bounds()};
}
std::optional<double> RelativeSlopeOp::getFactorOutside(ArrayRef<double>) { return std::nullopt; }
std::optional<double> RelativeSlopeOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }
FeatureCost RelativeSlopeOp::getCost() { return {}; }
void RelativeSlopeOp::buildGradient(GradientBuilder &g, Value) {
  g.refuse(*this, "is a gradient: second derivatives are not supported");
}

//===- ConvolveOps.cpp - convolutions along positions ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientBuilder.h"
#include "dialects/PolyAttn/GradientPairs.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/TypeSyntax.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// convolve
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOfWeight(Value weight) {
  return cast<WeightType>(weight.getType()).getShape();
}

LogicalResult ConvolveOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                           Results &results) {
  int64_t width = widthOf(op.getInput());
  ArrayRef<int64_t> shape = shapeOfWeight(op.getFilter());
  if (shape.size() > 2 || shape[0] > kMostLags || (shape.size() == 2 && shape[1] != width))
    return emitOptionalError(loc, "C1: expected a filter of 1 to ", kMostLags,
                             " lags, as a vector or with ", width, " columns, got ",
                             op.getFilter().getType());
  return inferVector(context, loc, results, width);
}

LogicalResult ConvolveOp::verify() {
  return verifyArgument(*this, "C2: expected a filter", getFilter());
}

BlockArgument ConvolveOp::getFilterArgument() {
  return cast<BlockArgument>(getFilter().getDefiningOp<ReadOp>().getTensor());
}
bool ConvolveOp::hasFilterPerHead() {
  auto tensor = cast<RankedTensorType>(getFilterArgument().getType());
  return tensor.getRank() > int64_t(shapeOfWeight(getFilter()).size());
}

int64_t ConvolveOp::getLags() { return shapeOfWeight(getFilter())[0]; }
bool ConvolveOp::hasSharedChannels() { return shapeOfWeight(getFilter()).size() == 1; }

FeatureFacts ConvolveOp::getFacts(ArrayRef<FeatureFacts>) {
  return {/*degree=*/std::nullopt, Bounds()};
}
std::optional<double> ConvolveOp::getFactorOutside(ArrayRef<double> factors) { return factors[0]; }
std::optional<double> ConvolveOp::getConstantElement(ArrayRef<double>) { return std::nullopt; }

/// Of a position, by transforms of so many positions as the filter has lags: there are two, of 10
/// flops for each level, number and pair of elements.
FeatureCost ConvolveOp::getCost() {
  double levels = 1 + llvm::Log2_64_Ceil(getLags());
  return costOfFlops(20 * levels * widthOf(getInput()));
}

/// The transpose of a convolution goes the other way.
void ConvolveOp::buildGradient(GradientBuilder &g, Value dy) {
  if (g.wants(getInput()))
    g.addTo(getInput(), g.create<ConvolveOp>(dy, getFilter(), !getReversed(), getCircular()));
  g.addToFilter(*this, dy);
}

//===----------------------------------------------------------------------===//
// filter_gradient
//===----------------------------------------------------------------------===//

ParseResult FilterGradientOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseGradientPairs(parser, result, getOperandSegmentSizesAttrName(result.name)))
    return failure();
  return inferParsedTypes<FilterGradientOp>(parser, result);
}

void FilterGradientOp::print(OpAsmPrinter &printer) {
  printGradientPairs(printer, *this, getInputs(), getGradients(), getPlus(),
                     getOperandSegmentSizesAttrName());
}

LogicalResult FilterGradientOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                                 Results &results) {
  ValueRange inputs = op.getInputs(), gradients = op.getGradients();
  if (gradients.empty() || inputs.size() != gradients.size())
    return emitOptionalError(loc, "C1: expected pairs of a vector and a gradient, got ",
                             inputs.size(), " vectors and ", gradients.size(), " gradients");
  int64_t width = widthOf(inputs.front()), lags = op.getLags();
  for (ValueRange vectors : {inputs, gradients})
    for (Value vector : vectors)
      if (widthOf(vector) != width)
        return emitOptionalError(loc, "C1: expected vectors of one width, got ", width, " and ",
                                 widthOf(vector));
  if (lags < 1 || lags > ConvolveOp::kMostLags)
    return emitOptionalError(loc, "C2: expected 1 to ", ConvolveOp::kMostLags, " lags, got ", lags);
  SmallVector<int64_t> shape = {lags};
  if (!op.getSharedChannels())
    shape.push_back(width);
  results.push_back(WeightType::get(context, shape));
  return success();
}

LogicalResult FilterGradientOp::verify() {
  for (Operation *user : usersOf(getResult()))
    if (!isa<ReturnOp>(user))
      return emitOpError("C3: the gradient of a filter can only be returned, but ")
             << user->getName() << " uses it";
  return success();
}

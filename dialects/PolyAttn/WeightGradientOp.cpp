//===- WeightGradientOp.cpp - sums over positions for weights -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/FeatureOpRules.h"
#include "dialects/PolyAttn/GradientPairs.h"
#include "dialects/PolyAttn/Kernels.h"
#include "dialects/PolyAttn/TypeSyntax.h"

using namespace mlir;
using namespace polyattn;

static constexpr StringRef kPlus = "plus";

/// `(%x, %dy), (%x2, %dy2)` or `%dy, %dy2`, and `plus` a running sum; types in the same form.
/// Operands of a pair are apart in the op: inputs first.
template <typename Item>
static ParseResult parsePairs(OpAsmParser &parser, SmallVectorImpl<Item> &inputs,
                              SmallVectorImpl<Item> &gradients,
                              function_ref<ParseResult(Item &)> parseItem) {
  bool hasPairs = succeeded(parser.parseOptionalLParen());
  do {
    if (hasPairs && !gradients.empty() && parser.parseLParen())
      return failure();
    if (hasPairs && (parseItem(inputs.emplace_back()) || parser.parseComma()))
      return failure();
    if (parseItem(gradients.emplace_back()) || (hasPairs && parser.parseRParen()))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

ParseResult polyattn::parseGradientPairs(OpAsmParser &parser, OperationState &result,
                                         StringAttr sizesName) {
  using Operand = OpAsmParser::UnresolvedOperand;
  SmallVector<Operand> inputs, gradients;
  SmallVector<Type> inputTypes, gradientTypes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  SmallVector<Operand, 1> sum;
  SmallVector<Type, 1> sumType;
  auto parseOperand = [&](Operand &operand) { return parser.parseOperand(operand); };
  auto parseType = [&](Type &type) -> ParseResult {
    if (parseFeatureType(parser, type))
      return failure();
    if (!isa<FeatureType>(type))
      return parser.emitError(loc) << "operands are feature vectors, got " << type;
    return success();
  };
  if (parsePairs<Operand>(parser, inputs, gradients, parseOperand) ||
      (succeeded(parser.parseOptionalKeyword(kPlus)) && parseOperand(sum.emplace_back())) ||
      parseOptionalAttributes(parser, result) || parser.parseColon() ||
      parsePairs<Type>(parser, inputTypes, gradientTypes, parseType) ||
      (!sum.empty() && (parser.parseKeyword(kPlus) || parser.parseType(sumType.emplace_back()))) ||
      parser.resolveOperands(inputs, inputTypes, loc, result.operands) ||
      parser.resolveOperands(gradients, gradientTypes, loc, result.operands) ||
      parser.resolveOperands(sum, sumType, loc, result.operands))
    return failure();
  result.addAttribute(
      sizesName, parser.getBuilder().getDenseI32ArrayAttr(
                     {int32_t(inputs.size()), int32_t(gradients.size()), int32_t(sum.size())}));
  return success();
}

void polyattn::printGradientPairs(OpAsmPrinter &printer, Operation *op, OperandRange allInputs,
                                  OperandRange allGradients, Value plus, StringRef sizesName) {
  auto pairs = [&](auto inputs, auto gradients, auto printItem) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      printer << (i ? ", " : "");
      if (inputs.empty()) {
        printItem(gradients[i]);
        continue;
      }
      printer << "(";
      printItem(inputs[i]);
      printer << ", ";
      printItem(gradients[i]);
      printer << ")";
    }
  };
  printer << " ";
  pairs(allInputs, allGradients, [&](Value value) { printer << value; });
  if (plus)
    printer << " " << kPlus << " " << plus;
  printOptionalAttributes(printer, op->getAttrs(), {sizesName});
  printer << " : ";
  pairs(allInputs.getTypes(), allGradients.getTypes(),
        [&](Type type) { printFeatureType(printer, type); });
  if (plus)
    printer << " " << kPlus << " " << plus.getType();
}

ParseResult WeightGradientOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseGradientPairs(parser, result, getOperandSegmentSizesAttrName(result.name)))
    return failure();
  return inferParsedTypes<WeightGradientOp>(parser, result);
}

void WeightGradientOp::print(OpAsmPrinter &printer) {
  printGradientPairs(printer, *this, getInputs(), getGradients(), getPlus(),
                     getOperandSegmentSizesAttrName());
}

LogicalResult WeightGradientOp::inferReturnTypes(MLIRContext *context, Loc loc, Adaptor op,
                                                 Results &results) {
  ValueRange inputs = op.getInputs(), gradients = op.getGradients();
  if (gradients.empty() || (!inputs.empty() && inputs.size() != gradients.size()))
    return emitOptionalError(loc,
                             "C1: expected gradients, and an input for each of them or none, "
                             "got ",
                             gradients.size(), " gradients and ", inputs.size(), " inputs");
  SmallVector<int64_t> shape;
  for (ValueRange vectors : {inputs, gradients}) {
    for (Value vector : vectors)
      if (widthOf(vector) != widthOf(vectors.front()))
        return emitOptionalError(loc, "C2: expected vectors of one width, got ",
                                 widthOf(vectors.front()), " and ", widthOf(vector));
    if (!vectors.empty())
      shape.push_back(widthOf(vectors.front()));
  }
  results.push_back(WeightType::get(context, shape));
  return success();
}

LogicalResult WeightGradientOp::verify() {
  for (Operation *user : usersOf(getResult()))
    if (!isa<ReturnOp, SumWeightsOp>(user))
      return emitOpError("C3: the gradient of a weight can only be returned, but ")
             << user->getName() << " uses it";
  return success();
}

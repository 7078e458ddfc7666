//===- FeatureMapOp.cpp - feature maps, and where they are applied --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/FeatureParts.h"

using namespace mlir;
using namespace polyattn;

ParseResult FeatureMapOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseHeader(parser, result, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FeatureMapOp::print(OpAsmPrinter &printer) {
  printHeader(printer, getSymName(), getBody());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "arg_names"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void FeatureMapOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(getArgNames(), region, setName);
}

LogicalResult FeatureMapOp::verifyRegions() {
  if (failed(verifyNames(*this, getArgNames(), getBody())))
    return failure();
  for (auto [argument, name] : llvm::zip(getBody().getArguments(), getArgNames()))
    if (!isa<FeatureType, WeightType>(argument.getType()))
      return emitOpError("C1: argument ") << name << " is neither a feature vector nor a weight";
  if (getBody().front().empty() || !isa<YieldOp>(getBody().front().back()))
    return emitOpError("C2: the body must end in `yield`");
  return verifyFeaturelessScores(getBody().front());
}

Value FeatureMapOp::getFeatures() {
  Block &block = getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  return yield ? yield.getFeatures() : Value();
}

//===----------------------------------------------------------------------===//
// ReadOp, ApplyOp, ReturnOp
//===----------------------------------------------------------------------===//

/// Says what [T, 1, d] is where somebody took it for a weight [1, d] of each head.
static void noteOneRow(InFlightDiagnostic &error, Type tensor, Type wanted) {
  auto weight = dyn_cast<WeightType>(wanted);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor).getShape();
  if (weight && weight.getShape().size() == 2 && weight.getShape()[0] == 1 && shape.size() == 3 &&
      shape[1] == 1)
    error << ": it is a vector for each position; a weight of one row for each head is a vector, "
          << RankedTensorType::get({ShapedType::kDynamic, shape[2]},
                                   cast<RankedTensorType>(tensor).getElementType());
}

LogicalResult ReadOp::verify() {
  if (!isa<BlockArgument>(getTensor()))
    return emitOpError("C2: the tensor must be an argument of the attention");
  Type expected = readTypeOf(cast<RankedTensorType>(getTensor().getType()));
  if (!isWholeOrPart(getResult().getType(), expected, (*this)->getParentOfType<AttentionOp>())) {
    InFlightDiagnostic error = emitOpError("C1: ") << getTensor().getType() << " cannot be read as "
                                                   << getResult().getType();
    noteOneRow(error, getTensor().getType(), getResult().getType());
    return error;
  }
  return success();
}

LogicalResult ApplyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto map = symbols.lookupNearestSymbolFrom<FeatureMapOp>(*this, getMapAttr());
  if (!map)
    return emitOpError("C1: there is no feature map ") << getMapAttr();
  Region &body = map.getBody();
  if (getInputs().size() != body.getNumArguments())
    return emitOpError("C2: ") << getMapAttr() << " takes " << body.getNumArguments()
                               << " arguments, got " << getInputs().size();
  for (auto [input, argument, name] :
       llvm::zip(getInputs(), body.getArguments(), map.getArgNames())) {
    Type type = input.getType();
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      if (!isa<BlockArgument>(input))
        return emitOpError("C4: a tensor must be an argument of the attention");
      type = readTypeOf(tensor);
    }
    if (type != argument.getType()) {
      InFlightDiagnostic error = emitOpError("C2: argument ")
                                 << name << " of " << getMapAttr() << " is " << argument.getType()
                                 << ", got " << input.getType();
      if (isa<RankedTensorType>(input.getType()))
        noteOneRow(error, input.getType(), argument.getType());
      return error;
    }
  }
  auto yield = body.front().empty() ? YieldOp() : dyn_cast<YieldOp>(body.front().back());
  if (yield && yield.getFeatures().getType() != getResult().getType())
    return emitOpError("C3: ") << getMapAttr() << " gives " << yield.getFeatures().getType()
                               << ", not " << getResult().getType();
  return success();
}

/// What no single attend can check of an attention, the maps being known to be well-formed here.
LogicalResult ReturnOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyFeaturelessScores(*(*this)->getBlock());
}

//===- Arguments.cpp - arguments of maps and attentions -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/Arguments.h"
#include "dialects/PolyAttn/TypeSyntax.h"

using namespace mlir;
using namespace polyattn;

ParseResult polyattn::parseHeader(OpAsmParser &parser, OperationState &result,
                                  SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  StringAttr name;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes))
    return failure();
  SmallVector<Attribute> names;
  auto parseArgument = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseColon() ||
        parseFeatureType(parser, argument.type))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(argument.ssaName.name.drop_front()));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseArgument))
    return failure();
  result.addAttribute("arg_names", parser.getBuilder().getArrayAttr(names));
  return success();
}

void polyattn::printHeader(OpAsmPrinter &printer, StringRef name, Region &body) {
  printer << " ";
  printer.printSymbolName(name);
  printer << "(";
  llvm::interleaveComma(body.getArguments(), printer, [&](BlockArgument argument) {
    printer.printOperand(argument);
    printer << ": ";
    printFeatureType(printer, argument.getType());
  });
  printer << ")";
}

void polyattn::nameArguments(ArrayAttr names, Region &region, OpAsmSetValueNameFn setName) {
  if (names.size() != region.getNumArguments())
    return;
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, cast<StringAttr>(name).getValue());
}

LogicalResult polyattn::verifyNames(Operation *op, ArrayAttr names, Region &body) {
  if (names.size() != body.getNumArguments())
    return op->emitOpError("has ")
           << names.size() << " argument names for " << body.getNumArguments() << " arguments";
  return success();
}

bool polyattn::hasSharedHeads(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<SharedHeadsAttr>(tensor.getEncoding());
}

bool polyattn::sharesHeads(AttentionOp attention) {
  return llvm::any_of(attention.getBody().getArgumentTypes(), hasSharedHeads) ||
         llvm::any_of(attention.getResultTypes().getAsValueRange<TypeAttr>(), hasSharedHeads);
}

Type polyattn::readTypeOf(RankedTensorType tensor) {
  MLIRContext *context = tensor.getContext();
  ArrayRef<int64_t> shape = tensor.getShape();
  auto dynamic = [&](size_t from, size_t to) {
    return llvm::all_of(shape.slice(from, to - from), ShapedType::isDynamic);
  };
  auto isStatic = [&](size_t from) {
    return llvm::all_of(shape.drop_front(from),
                        [](int64_t n) { return !ShapedType::isDynamic(n) && n > 0; });
  };
  if (tensor.getEncoding() && (!hasSharedHeads(tensor) || shape.size() != 4))
    return {};
  switch (shape.size()) {
  case 1:
    return isStatic(0) ? WeightType::get(context, shape) : Type();
  case 2:
    if (isStatic(0))
      return WeightType::get(context, shape);
    return dynamic(0, 1) && isStatic(1) ? WeightType::get(context, shape.drop_front()) : Type();
  case 3:
    if (dynamic(0, 1) && isStatic(2) && (dynamic(1, 2) || shape[1] == 1))
      return FeatureType::vector(context, shape[2]);
    return dynamic(0, 1) && isStatic(1) ? WeightType::get(context, shape.drop_front()) : Type();
  case 4:
    return dynamic(0, 3) && isStatic(3) ? FeatureType::vector(context, shape[3]) : Type();
  default:
    return {};
  }
}

//===- AttentionOps.cpp - syntax and verification of maps and attentions --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/AttentionClauses.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// Syntax shared by feature_map and attention: `@name(%x: type, ...)`
//===----------------------------------------------------------------------===//

/// Parses the symbol, the arguments with their names, and leaves the body to the caller.
static ParseResult parseHeader(OpAsmParser &parser, OperationState &result,
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

static void printHeader(OpAsmPrinter &printer, StringRef name, Region &body) {
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

static void nameArguments(ArrayAttr names, Region &region, OpAsmSetValueNameFn setName) {
  if (names.size() != region.getNumArguments())
    return;
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, cast<StringAttr>(name).getValue());
}

static LogicalResult verifyNames(Operation *op, ArrayAttr names, Region &body) {
  if (names.size() != body.getNumArguments())
    return op->emitOpError("has ")
           << names.size() << " argument names for " << body.getNumArguments() << " arguments";
  return success();
}

//===----------------------------------------------------------------------===//
// FeatureMapOp
//===----------------------------------------------------------------------===//

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
  return verifyAbsoluteScores(getBody().front());
}

Value FeatureMapOp::getFeatures() {
  Block &block = getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  return yield ? yield.getFeatures() : Value();
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

/// Clauses that name an argument of whole numbers: the keywords, and the attributes.
static constexpr llvm::StringLiteral kFirstPosition = "first_position", kSlots = "slots",
                                     kLengths = "lengths", kPacked = "packed",
                                     kResultIn = "result_in";

/// The number of the argument that comes next in the text.
static ParseResult parseArgument(OpAsmParser &parser, ArrayRef<OpAsmParser::Argument> arguments,
                                 StringRef constraint, int64_t &number) {
  OpAsmParser::UnresolvedOperand named;
  if (parser.parseOperand(named))
    return failure();
  auto it = llvm::find_if(arguments, [&](const OpAsmParser::Argument &argument) {
    return argument.ssaName.name == named.name && argument.ssaName.number == named.number;
  });
  if (it == arguments.end())
    return parser.emitError(named.location)
           << constraint << ": there is no argument " << named.name;
  number = it - arguments.begin();
  return success();
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseHeader(parser, result, arguments) || parser.parseArrow())
    return failure();
  SmallVector<Attribute> names, types;
  SmallVector<int64_t> places;
  Builder &builder = parser.getBuilder();
  auto parseResult = [&]() -> ParseResult {
    StringRef name;
    Type type;
    if (parser.parseKeyword(&name) || parser.parseColonType(type))
      return failure();
    names.push_back(builder.getStringAttr(name));
    types.push_back(TypeAttr::get(type));
    places.push_back(-1);
    if (succeeded(parser.parseOptionalKeyword("in")))
      return parseArgument(parser, arguments, "C7", places.back());
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseResult))
    return failure();
  result.addAttribute("result_names", builder.getArrayAttr(names));
  result.addAttribute("result_types", builder.getArrayAttr(types));
  if (llvm::any_of(places, [](int64_t place) { return place >= 0; }))
    result.addAttribute(kResultIn, builder.getDenseI64ArrayAttr(places));
  for (StringRef clause : {kFirstPosition, kSlots, kLengths, kPacked}) {
    int64_t number = 0;
    if (failed(parser.parseOptionalKeyword(clause)))
      continue;
    if (parseArgument(parser, arguments, "C5", number))
      return failure();
    result.addAttribute(clause, builder.getI64IntegerAttr(number));
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printHeader(printer, getSymName(), getBody());
  printer << " -> (";
  llvm::interleaveComma(llvm::seq<size_t>(0, getResultNames().size()), printer, [&](size_t i) {
    printer << cast<StringAttr>(getResultNames()[i]).getValue() << ": " << getResultTypes()[i];
    if (BlockArgument argument = getArgumentOfResult(i))
      printer << " in " << argument;
  });
  printer << ")";
  auto printClause = [&](StringRef clause, BlockArgument argument) {
    if (argument)
      printer << " " << clause << " " << argument;
  };
  printClause(kFirstPosition, getFirstPositionArgument());
  printClause(kSlots, getSlotsArgument());
  printClause(kLengths, getLengthsArgument());
  printClause(kPacked, getOffsetsArgument());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"sym_name", "arg_names", "result_names", "result_types",
                                            kFirstPosition, kSlots, kLengths, kPacked, kResultIn});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(getArgNames(), region, setName);
}

/// The feature or weight type that reading a tensor gives; null where the tensor has another use.
static Type readTypeOf(RankedTensorType tensor) {
  MLIRContext *context = tensor.getContext();
  ArrayRef<int64_t> shape = tensor.getShape();
  auto dynamic = [&](size_t from, size_t to) {
    return llvm::all_of(shape.slice(from, to - from), ShapedType::isDynamic);
  };
  auto isStatic = [&](size_t from) {
    return llvm::all_of(shape.drop_front(from),
                        [](int64_t n) { return !ShapedType::isDynamic(n) && n > 0; });
  };
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

static bool isStorageType(Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

/// Whether nothing but a decay, [B, T, H] or [H], or a state, [B, H, D, dv], has the shape.
static bool hasShapeOfDecayOrState(RankedTensorType tensor) {
  if (!tensor || !tensor.getElementType().isF32())
    return false;
  ArrayRef<int64_t> shape = tensor.getShape();
  if (shape.size() == 1 || shape.size() == 3)
    return llvm::all_of(shape, ShapedType::isDynamic);
  return shape.size() == 4 && llvm::all_of(shape.take_front(2), ShapedType::isDynamic) &&
         llvm::all_of(shape.drop_front(2),
                      [](int64_t n) { return !ShapedType::isDynamic(n) && n > 0; });
}

/// True where the value is used as a decay or a state only. Of an argument that nobody uses, as
/// when the attend that did has gone, the shape says it.
bool AttentionOp::isDecayOrState(BlockArgument argument) {
  if (argument.use_empty())
    return hasShapeOfDecayOrState(dyn_cast<RankedTensorType>(argument.getType()));
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    // Their operands that are tensors are nothing else.
    return isa<AttendOp, AttendBackwardOp, DecayGradientOp>(use.getOwner());
  });
}

/// Whether a tensor is a state of one column, without its last dimension.
static bool isColumnOf(RankedTensorType column, Type state) {
  auto tensor = dyn_cast<RankedTensorType>(state);
  return tensor && tensor.getShape().back() == 1 &&
         tensor.getShape().drop_back() == column.getShape() &&
         tensor.getElementType() == column.getElementType();
}

static bool hasName(std::optional<ArrayAttr> names, StringRef name) {
  return names && llvm::is_contained(names->getAsValueRange<StringAttr>(), name);
}

bool AttentionOp::isSaved(BlockArgument argument) {
  return hasName(getSaved(), cast<StringAttr>(getArgNames()[argument.getArgNumber()]).getValue());
}

/// Whether an argument is a result's gradient.
static bool isGradient(AttentionOp op, BlockArgument argument) {
  std::optional<DictionaryAttr> all = op.getGradientOf();
  return all && all->contains(cast<StringAttr>(op.getArgNames()[argument.getArgNumber()]));
}

static LogicalResult verifyGradientNames(AttentionOp op) {
  auto saved = op.getSaved().value_or(ArrayAttr::get(op.getContext(), {}));
  for (StringRef name : saved.getAsValueRange<StringAttr>())
    if (!hasName(op.getArgNames(), name))
      return op.emitOpError("C6: there is no argument '") << name << "' to be saved";
  for (NamedAttribute entry : op.getGradientOf().value_or(DictionaryAttr::get(op.getContext()))) {
    StringRef name = entry.getName().getValue();
    if (!hasName(op.getArgNames(), name) && !hasName(op.getResultNames(), name))
      return op.emitOpError("C6: there is no argument or result '") << name << "' to be a gradient";
    if (!isa<StringAttr>(entry.getValue()))
      return op.emitOpError("C6: '")
             << name << "' is the gradient of a name, not of " << entry.getValue();
  }
  return success();
}

/// Generated headers and tools name the tensors: identifiers of C, all different.
static LogicalResult verifyIdentifiers(AttentionOp op) {
  llvm::StringSet<> seen;
  for (ArrayAttr names : {op.getArgNames(), op.getResultNames()}) {
    for (StringRef name : names.getAsValueRange<StringAttr>()) {
      bool identifier = !name.empty() && !llvm::isDigit(name[0]) &&
                        llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!identifier)
        return op.emitOpError("C4: '") << name << "' is not an identifier";
      if (!seen.insert(name).second)
        return op.emitOpError("C4: the name '") << name << "' is used twice";
    }
  }
  return success();
}

static bool isWhole(RankedTensorType tensor) { return tensor.getElementType().isInteger(); }

/// What the sequences [B, T, H, d] hold; without any, what is not f32 holds.
static Type storageOf(AttentionOp op) {
  Type result;
  for (BlockArgument argument : op.getBody().getArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor || isWhole(tensor) || op.isSaved(argument) || AttentionOp::isDecayOrState(argument))
      continue;
    if (tensor.getRank() == 4)
      return tensor.getElementType();
    if (!result || result.isF32())
      result = tensor.getElementType();
  }
  return result;
}

LogicalResult AttentionOp::verifyRegions() {
  if (failed(verifyNames(*this, getArgNames(), getBody())) || failed(verifyIdentifiers(*this)))
    return failure();
  if (getResultNames().size() != getResultTypes().size())
    return emitOpError("has result names and result types of different numbers");
  if (failed(verifyClauses(*this)) || failed(verifyGradientNames(*this)))
    return failure();
  Type storage = storageOf(*this);
  for (auto [argument, name] : llvm::zip(getBody().getArguments(), getArgNames())) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor)
      return emitOpError("C1: argument ") << name << " is not a tensor";
    if (isWholeNumbers(argument))
      continue;
    if (isWhole(tensor))
      return emitOpError("C5: argument ")
             << name << " holds whole numbers, but no `first_position`, `slots`, `lengths` or "
             << "`packed` names it: " << tensor;
    if (isDecayOrState(argument)) {
      if (!tensor.getElementType().isF32())
        return emitOpError("C2: argument ") << name << " is a decay or a state and must be f32";
      continue;
    }
    if (!readTypeOf(tensor))
      return emitOpError("C1: argument ")
             << name << " has the shape of no query, key, value or weight: " << tensor;
    if (!isStorageType(tensor.getElementType()))
      return emitOpError("C2: argument ")
             << name << " must hold f32, bf16 or f16, not " << tensor.getElementType();
    bool isSequence = tensor.getRank() == 4;
    // A result may hold f32, so that its gradient and what is kept of it may.
    bool mayBeF32 = !isSequence || isSaved(argument) || isGradient(*this, argument);
    if (tensor.getElementType() != storage && (!mayBeF32 || !tensor.getElementType().isF32()))
      return emitOpError("C2: argument ")
             << name << " holds " << tensor.getElementType() << " where "
             << (isSequence ? "other sequences" : "sequences") << " hold " << storage;
  }
  auto returnOp =
      getBody().front().empty() ? ReturnOp() : dyn_cast<ReturnOp>(getBody().front().back());
  if (!returnOp)
    return emitOpError("C3: the body must end in `return`");
  if (getResultTypes().empty())
    return emitOpError("C3: there is nothing to compute without a result");
  if (returnOp.getResults().size() != getResultTypes().size())
    return returnOp.emitOpError("C3: returns ")
           << returnOp.getResults().size() << " values where the attention has "
           << getResultTypes().size() << " results";
  for (auto [value, type] :
       llvm::zip(returnOp.getResults(), getResultTypes().getAsValueRange<TypeAttr>())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return emitOpError("C3: a result is not a tensor: ") << type;
    if (auto feature = dyn_cast<FeatureType>(value.getType())) {
      if (tensor.getRank() != 4 ||
          readTypeOf(tensor) != FeatureType::vector(getContext(), feature.getWidth()))
        return emitOpError("C3: a result of width ")
               << feature.getWidth() << " does not fit " << tensor;
      if (tensor.getElementType() != storage && !tensor.getElementType().isF32())
        return emitOpError("C2: a result must hold f32 or the sequences' storage type, not ")
               << tensor.getElementType();
    } else if (isa<WeightType>(value.getType())) {
      // Parts are summed up in f32, and this is where they are summed.
      if (readTypeOf(tensor) != value.getType())
        return emitOpError("C3: a result ") << type << " is given a " << value.getType();
      if (!tensor.getElementType().isF32())
        return emitOpError("C2: the gradient of a weight must be f32, not ")
               << tensor.getElementType();
      if (!value.getDefiningOp<WeightGradientOp>())
        return emitOpError("C3: a result is a weight, but no gradient of one: ") << type;
    } else if (value.getType() != type && !isColumnOf(tensor, value.getType())) {
      return emitOpError("C3: a result ") << type << " is given a " << value.getType();
    } else if (!isa_and_nonnull<AttendOp, AttendBackwardOp, DecayGradientOp>(
                   value.getDefiningOp())) {
      return emitOpError("C3: a result is neither a vector nor a final state: ") << type;
    }
  }
  if (failed(verifyPlaces(*this, returnOp)))
    return failure();
  return verifyDecoding(*this, returnOp);
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
  if (expected != getResult().getType()) {
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
  return verifyAbsoluteScores(*(*this)->getBlock());
}

//===- AttentionOps.cpp - syntax and verification of maps and attentions --===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
    return op->emitOpError("has ") << names.size() << " argument names for "
                                   << body.getNumArguments() << " arguments";
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
  return success();
}

Value FeatureMapOp::getFeatures() {
  Block &block = getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  return yield ? yield.getFeatures() : Value();
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parseHeader(parser, result, arguments) || parser.parseArrow())
    return failure();
  SmallVector<Attribute> names, types;
  auto parseResult = [&]() -> ParseResult {
    StringRef name;
    Type type;
    if (parser.parseKeyword(&name) || parser.parseColonType(type))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    types.push_back(TypeAttr::get(type));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseResult))
    return failure();
  result.addAttribute("result_names", parser.getBuilder().getArrayAttr(names));
  result.addAttribute("result_types", parser.getBuilder().getArrayAttr(types));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printHeader(printer, getSymName(), getBody());
  printer << " -> (";
  llvm::interleaveComma(llvm::zip(getResultNames(), getResultTypes()), printer, [&](auto pair) {
    printer << cast<StringAttr>(std::get<0>(pair)).getValue() << ": " << std::get<1>(pair);
  });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"sym_name", "arg_names", "result_names", "result_types"});
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

/// True where the value is used as a decay or a state only.
static bool isDecayOrState(BlockArgument argument) {
  return !argument.use_empty() && llvm::all_of(argument.getUses(), [](OpOperand &use) {
    auto attend = dyn_cast<AttendOp>(use.getOwner());
    return attend && (use.get() == attend.getDecay() || use.get() == attend.getInitialState() ||
                      use.get() == attend.getInitialNormalizer());
  });
}

/// Generated headers and tools name the tensors: identifiers of C, all different.
static LogicalResult verifyIdentifiers(AttentionOp op) {
  llvm::StringSet<> seen;
  for (ArrayAttr names : {op.getArgNames(), op.getResultNames()}) {
    for (StringRef name : names.getAsValueRange<StringAttr>()) {
      bool identifier =
          !name.empty() && !llvm::isDigit(name[0]) &&
          llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!identifier)
        return op.emitOpError("C4: '") << name << "' is not an identifier";
      if (!seen.insert(name).second)
        return op.emitOpError("C4: the name '") << name << "' is used twice";
    }
  }
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  if (failed(verifyNames(*this, getArgNames(), getBody())) || failed(verifyIdentifiers(*this)))
    return failure();
  if (getResultNames().size() != getResultTypes().size())
    return emitOpError("has result names and result types of different numbers");
  Type storage;
  for (auto [argument, name] : llvm::zip(getBody().getArguments(), getArgNames())) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!tensor)
      return emitOpError("C1: argument ") << name << " is not a tensor";
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
    if (storage && storage != tensor.getElementType())
      return emitOpError("C2: argument ") << name << " holds " << tensor.getElementType()
                                          << " where others hold " << storage;
    storage = tensor.getElementType();
  }
  auto returnOp = getBody().front().empty() ? ReturnOp()
                                            : dyn_cast<ReturnOp>(getBody().front().back());
  if (!returnOp)
    return emitOpError("C3: the body must end in `return`");
  if (returnOp.getResults().size() != getResultTypes().size())
    return returnOp.emitOpError("C3: returns ") << returnOp.getResults().size()
                                                << " values where the attention has "
                                                << getResultTypes().size() << " results";
  for (auto [value, type] :
       llvm::zip(returnOp.getResults(), getResultTypes().getAsValueRange<TypeAttr>())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return emitOpError("C3: a result is not a tensor: ") << type;
    if (auto feature = dyn_cast<FeatureType>(value.getType())) {
      if (tensor.getRank() != 4 || readTypeOf(tensor) != FeatureType::vector(getContext(), feature.getWidth()))
        return emitOpError("C3: a result of width ")
               << feature.getWidth() << " does not fit " << tensor;
      if (tensor.getElementType() != storage && !tensor.getElementType().isF32())
        return emitOpError("C2: a result must hold f32 or the arguments' storage type, not ")
               << tensor.getElementType();
    } else if (value.getType() != type) {
      return emitOpError("C3: a result ") << type << " is given a " << value.getType();
    } else if (!value.getDefiningOp<AttendOp>()) {
      return emitOpError("C3: a result is neither a vector nor a final state: ") << type;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ReadOp, ApplyOp
//===----------------------------------------------------------------------===//

LogicalResult ReadOp::verify() {
  if (!isa<BlockArgument>(getTensor()))
    return emitOpError("C2: the tensor must be an argument of the attention");
  Type expected = readTypeOf(cast<RankedTensorType>(getTensor().getType()));
  if (expected != getResult().getType())
    return emitOpError("C1: ") << getTensor().getType() << " cannot be read as "
                               << getResult().getType();
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
    if (type != argument.getType())
      return emitOpError("C2: argument ") << name << " of " << getMapAttr() << " is "
                                          << argument.getType() << ", got " << input.getType();
  }
  auto yield = body.front().empty() ? YieldOp() : dyn_cast<YieldOp>(body.front().back());
  if (yield && yield.getFeatures().getType() != getResult().getType())
    return emitOpError("C3: ") << getMapAttr() << " gives " << yield.getFeatures().getType()
                               << ", not " << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// AttendOp
//===----------------------------------------------------------------------===//

/// query %q key %k value %v (local %lq, %lk)? (decay %g)? (initial %s)? (initial_normalizer %z)?
///   (`causal` | `full`) `normalize` `<...>` attr-dict `:` types
ParseResult AttendOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  std::array<int32_t, 8> segments = {1, 1, 1, 0, 0, 0, 0, 0};
  auto optional = [&](StringRef keyword, size_t segment, size_t count) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(keyword)))
      return success();
    for (size_t i = 0; i < count; ++i) {
      if ((i && parser.parseComma()) || parser.parseOperand(operands.emplace_back()))
        return failure();
      segments[segment + i] = 1;
    }
    return success();
  };
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("query") || parser.parseOperand(operands.emplace_back()) ||
      parser.parseKeyword("key") || parser.parseOperand(operands.emplace_back()) ||
      parser.parseKeyword("value") || parser.parseOperand(operands.emplace_back()) ||
      optional("local", 3, 2) || optional("decay", 5, 1) || optional("initial", 6, 1) ||
      optional("initial_normalizer", 7, 1))
    return failure();
  llvm::SMLoc maskLoc = parser.getCurrentLocation();
  StringRef maskWord;
  Attribute normalizer;
  if (parser.parseKeyword(&maskWord))
    return failure();
  std::optional<Mask> mask = symbolizeMask(maskWord);
  if (!mask)
    return parser.emitError(maskLoc) << "expected the mask, `causal` or `full`";
  if (parser.parseKeyword("normalize") ||
      !(normalizer = NormalizerAttr::parse(parser, {})))
    return failure();
  result.addAttribute("mask", MaskAttr::get(parser.getContext(), *mask));
  result.addAttribute("normalizer", normalizer);
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColon() || parseFeatureTypes(parser, types) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  result.addAttribute(getOperandSegmentSizesAttrName(result.name),
                      parser.getBuilder().getDenseI32ArrayAttr(segments));
  // Types that the assembly does not constrain are checked before anything is inferred from them.
  for (size_t i = 0; i < types.size(); ++i) {
    bool feature = i < size_t(3 + segments[3] + segments[4]);
    if (feature ? !isa<FeatureType>(types[i]) : !isa<RankedTensorType>(types[i]))
      return parser.emitError(loc) << "operand " << i << " must be a "
                                   << (feature ? "feature vector" : "tensor") << ", got "
                                   << types[i];
  }
  return inferParsedTypes<AttendOp>(parser, result);
}

void AttendOp::print(OpAsmPrinter &printer) {
  printer << " query " << getQuery() << " key " << getKey() << " value " << getValue();
  if (getLocalQuery())
    printer << " local " << getLocalQuery() << ", " << getLocalKey();
  if (getDecay())
    printer << " decay " << getDecay();
  if (getInitialState())
    printer << " initial " << getInitialState();
  if (getInitialNormalizer())
    printer << " initial_normalizer " << getInitialNormalizer();
  printer << " " << stringifyMask(getMask()) << " normalize ";
  getNormalizer().print(printer);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getOperandSegmentSizesAttrName(), getMaskAttrName(), getNormalizerAttrName()});
  printer << " : ";
  printFeatureTypes(printer, *this, getOperandTypes());
}

/// The generic form may give an operand's segment any size.
static bool hasOneOfEach(ArrayRef<int32_t> segments) {
  return llvm::all_equal(segments.take_front(3)) && segments[0] == 1 &&
         llvm::all_of(segments.drop_front(3), [](int32_t size) { return size <= 1; });
}
static constexpr StringLiteral kOneOfEach =
    "expected one query, one key, one value and at most one of each other operand";

LogicalResult AttendOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor op, SmallVectorImpl<Type> &results) {
  if (!hasOneOfEach(op.getProperties().operandSegmentSizes))
    return emitOptionalError(loc, kOneOfEach);
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  results.push_back(FeatureType::vector(context, valueWidth));
  if (op.getFinalState()) {
    constexpr int64_t any = ShapedType::kDynamic;
    int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
    if (width > kMaxStateWidth)
      return emitOptionalError(loc, "C9: a final state of ", width,
                               " features is too large to hold; this map has only the "
                               "quadratic form");
    Type f32 = Float32Type::get(context);
    results.push_back(RankedTensorType::get({any, any, width, valueWidth}, f32));
    if (op.getNormalizer().getKind() != NormalizerKind::None)
      results.push_back(RankedTensorType::get({any, any, width}, f32));
  }
  return success();
}

/// [?, ?, sizes...] of f32.
static bool isStateTensor(Value value, ArrayRef<int64_t> sizes) {
  auto tensor = cast<RankedTensorType>(value.getType());
  return tensor.getElementType().isF32() && tensor.getRank() == int64_t(2 + sizes.size()) &&
         tensor.isDynamicDim(0) && tensor.isDynamicDim(1) &&
         tensor.getShape().drop_front(2) == sizes;
}

static LogicalResult verifyDecay(AttendOp op) {
  if (!op.hasDecay())
    return success();
  if (op.getDecay() && op.getDecayFactors())
    return op.emitOpError("C6: a decay is a tensor or a list, not both");
  if (op.getMask() != Mask::Causal)
    return op.emitOpError("C6: a decay needs the causal mask");
  if (op.getDecay()) {
    auto tensor = cast<RankedTensorType>(op.getDecay().getType());
    bool shapeFits = (tensor.getRank() == 3 || tensor.getRank() == 1) &&
                     llvm::all_of(tensor.getShape(), ShapedType::isDynamic);
    if (!tensor.getElementType().isF32() || !shapeFits)
      return op.emitOpError("C7: a decay is tensor<?x?x?xf32>, per token and head, or "
                            "tensor<?xf32>, per head; a decay per channel is not "
                            "expressible; got ")
             << tensor;
  } else {
    ArrayRef<double> factors = *op.getDecayFactors();
    for (double factor : factors)
      if (!(factor > 0 && factor <= 1))
        return op.emitOpError("C7: a decay factor must be in (0, 1], got ") << factor;
  }
  return success();
}

static LogicalResult verifyStates(AttendOp op) {
  Value state = op.getInitialState(), normalizer = op.getInitialNormalizer();
  if (!state && !normalizer && !op.getFinalState())
    return success();
  if (op.getMask() != Mask::Causal)
    return op.emitOpError("C10: a state needs the causal mask");
  if (!state && normalizer)
    return op.emitOpError("C8: an initial normalizer needs an initial state");
  if (!state)
    return success();
  int64_t width = cast<FeatureType>(op.getKey().getType()).getWidth();
  int64_t valueWidth = cast<FeatureType>(op.getValue().getType()).getWidth();
  if (width > AttendOp::kMaxStateWidth)
    return op.emitOpError("C9: a state of ") << width << " features is too large to hold; "
                                             << "this map has only the quadratic form";
  if (!isStateTensor(state, {width, valueWidth}))
    return op.emitOpError("C8: expected an initial state tensor<?x?x")
           << width << "x" << valueWidth << "xf32>, got " << state.getType();
  bool normalized = op.getNormalizer().getKind() != NormalizerKind::None;
  if (normalized != bool(normalizer))
    return op.emitOpError("C8: an initial normalizer is given where, and only where, there is a "
                          "normalizer");
  if (normalizer && !isStateTensor(normalizer, {width}))
    return op.emitOpError("C8: expected an initial normalizer tensor<?x?x")
           << width << "xf32>, got " << normalizer.getType();
  return success();
}

LogicalResult AttendOp::verify() {
  if (!hasOneOfEach(getProperties().operandSegmentSizes))
    return emitOpError(kOneOfEach);
  if (getQuery().getType() != getKey().getType())
    return emitOpError("C1: query and key have different structures, ")
           << getQuery().getType() << " and " << getKey().getType();
  if (getScoreScale() && !getScoreScale()->isFinite())
    return emitOpError("C11: score_scale must be finite");
  for (Value tensor : {getDecay(), getInitialState(), getInitialNormalizer()})
    if (tensor && !isa<BlockArgument>(tensor))
      return emitOpError("C12: a decay or an initial state must be an argument of the attention");
  if (getNormalizer().getEpsMode() == EpsMode::RowMax && (getInitialState() || getFinalState()))
    return emitOpError("C13: `eps_mode = row_max` has no state, as the row's largest score is not "
                       "known from one");
  if (getBlock() && *getBlock() < 1)
    return emitOpError("C3: a block must be positive, got ") << *getBlock();
  if (bool(getLocalQuery()) != bool(getLocalKey()))
    return emitOpError("C2: local vectors come as a pair");
  if (getLocalQuery()) {
    if (getLocalQuery().getType() != getLocalKey().getType())
      return emitOpError("C2: local query and key have different structures, ")
             << getLocalQuery().getType() << " and " << getLocalKey().getType();
    if (getMask() != Mask::Causal || !getBlock())
      return emitOpError("C2: a local kernel needs the causal mask and a block, which is part of "
                         "its meaning");
  }
  if (failed(verifyDecay(*this)))
    return failure();
  return verifyStates(*this);
}

/// The constraints that look into the applied maps, which are known to be well-formed here.
LogicalResult AttendOp::verifySymbolUses(SymbolTableCollection &) {
  bool scoresSigned = !scoresNonNegative(getQuery(), getKey());
  if (getLocalQuery()) {
    for (auto [exact, other] : {std::pair{getLocalQuery(), getQuery()}, {getLocalKey(), getKey()}}) {
      std::optional<int64_t> local = factsOf(exact).degree, degree = factsOf(other).degree;
      if (local && degree && local != degree)
        return emitOpError("C4: the local scores have degree ")
               << *local << ", the scores degree " << *degree;
    }
    scoresSigned |= !scoresNonNegative(getLocalQuery(), getLocalKey());
  }
  if (getNormalizer().getKind() != NormalizerKind::None && scoresSigned && !getSignedScores())
    return emitOpError("C5: the scores may be negative, so that the denominator may vanish; use a "
                       "non-negative map, or say `signed_scores` if that is meant");
  bool hasState = getInitialState() || getFinalState();
  if (hasState && (hasAbsoluteScore(getQuery()) || hasAbsoluteScore(getKey())))
    return emitOpError("C9: an odd power of |score| has no features and so no state");
  return success();
}

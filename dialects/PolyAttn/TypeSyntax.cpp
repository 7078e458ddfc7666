//===- TypeSyntax.cpp - the short form of feature and weight types --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/TypeSyntax.h"
#include "dialects/PolyAttn/AttributeSyntax.h"

using namespace mlir;
using namespace polyattn;

/// Nesting beyond this depth is no structure that anyone means, and recursion must end.
static constexpr int kMaxDepth = 32;

static FailureOr<Structure> parseSum(AsmParser &parser, int depth);

/// factor := `[` width `]` | (`sym` | `pow`) p (`block` b)? factor | `exp` factor | `(` sum `)`
static FailureOr<Structure> parseFactor(AsmParser &parser, int depth) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (depth > kMaxDepth) {
    parser.emitError(loc, "a structure is nested too deeply");
    return failure();
  }
  if (succeeded(parser.parseOptionalLSquare())) {
    int64_t width;
    if (parser.parseInteger(width) || parser.parseRSquare())
      return failure();
    if (width < 1 || width > FeatureType::kMaxVector) {
      parser.emitError(loc) << "a vector's width must be between 1 and " << FeatureType::kMaxVector;
      return failure();
    }
    return Structure::vector(width);
  }
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<Structure> inner = parseSum(parser, depth + 1);
    if (failed(inner) || parser.parseRParen())
      return failure();
    return inner;
  }
  if (succeeded(parser.parseOptionalKeyword("exp"))) {
    FailureOr<Structure> exponent = parseFactor(parser, depth + 1);
    return failed(exponent) ? exponent : Structure::exponential(*exponent);
  }
  bool symmetric = succeeded(parser.parseOptionalKeyword("sym"));
  if (!symmetric && failed(parser.parseOptionalKeyword("pow"))) {
    parser.emitError(loc, "expected a structure: `[width]`, `sym`, `pow`, `exp` or `(`");
    return failure();
  }
  int64_t degree, block = 1;
  if (parser.parseInteger(degree))
    return failure();
  if (symmetric && succeeded(parser.parseOptionalKeyword("block")) && parser.parseInteger(block))
    return failure();
  FailureOr<Structure> base = parseFactor(parser, depth + 1);
  if (failed(base))
    return failure();
  if (degree < 1 || degree > 64) {
    parser.emitError(loc, "a power's degree must be between 1 and 64");
    return failure();
  }
  if (block < 1 || base->width() % block != 0) {
    parser.emitError(loc, "a power's block must divide the width of its base");
    return failure();
  }
  return symmetric ? Structure::symmetricPower(*base, degree, block)
                   : Structure::tensorPower(*base, degree);
}

/// product := factor (`x` factor)*
static FailureOr<Structure> parseProduct(AsmParser &parser, int depth) {
  std::vector<Structure> parts;
  do {
    FailureOr<Structure> factor = parseFactor(parser, depth);
    if (failed(factor))
      return failure();
    parts.push_back(std::move(*factor));
  } while (succeeded(parser.parseOptionalKeyword("x")));
  return parts.size() == 1 ? parts[0] : Structure::tensorProduct(std::move(parts));
}

/// sum := product (`+` product)*
static FailureOr<Structure> parseSum(AsmParser &parser, int depth) {
  std::vector<Structure> parts;
  do {
    FailureOr<Structure> product = parseProduct(parser, depth);
    if (failed(product))
      return failure();
    parts.push_back(std::move(*product));
  } while (succeeded(parser.parseOptionalPlus()));
  return parts.size() == 1 ? parts[0] : Structure::concat(std::move(parts));
}

FailureOr<Structure> polyattn::parseStructure(AsmParser &parser) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  FailureOr<Structure> structure = parseSum(parser, /*depth=*/0);
  if (succeeded(structure) && structure->encode().size() > FeatureType::kMaxCode) {
    parser.emitError(loc, "a structure has too many parts");
    return failure();
  }
  return structure;
}

static ParseResult parseSizes(AsmParser &parser, SmallVectorImpl<int64_t> &sizes) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return failure();
  if (sizes.empty() || sizes.size() > 2 ||
      llvm::any_of(sizes, [](int64_t n) { return n < 1 || n > FeatureType::kMaxVector; }))
    return parser.emitError(loc, "a weight is a vector `n` or a matrix `mxn` of positive sizes, "
                                 "each below 2^31");
  return success();
}

ParseResult polyattn::parseFeatureType(AsmParser &parser, Type &type) {
  // A weight starts with a digit, a structure with a bracket, a parenthesis or a keyword; the
  // parser's own types start with none of these but a parenthesis (function types).
  char front = *parser.getCurrentLocation().getPointer();
  if (front >= '0' && front <= '9') {
    SmallVector<int64_t> sizes;
    if (parseSizes(parser, sizes))
      return failure();
    type = WeightType::get(parser.getContext(), sizes);
    return success();
  }
  if (front != '[' && front != '(') {
    OptionalParseResult other = parser.parseOptionalType(type);
    if (other.has_value())
      return *other;
  }
  FailureOr<Structure> structure = parseStructure(parser);
  if (failed(structure))
    return failure();
  type = FeatureType::get(parser.getContext(), *structure);
  return success();
}

void polyattn::printFeatureType(AsmPrinter &printer, Type type) {
  if (auto feature = dyn_cast<FeatureType>(type))
    printer << feature.getStructure().str();
  else if (auto weight = dyn_cast<WeightType>(type))
    printer.printDimensionList(weight.getShape());
  else
    printer << type;
}

ParseResult polyattn::parseFeatureTypes(AsmParser &parser, SmallVectorImpl<Type> &types) {
  // `apply @constant() : -> [4]` has none before the arrow.
  if (*parser.getCurrentLocation().getPointer() == '-')
    return success();
  return parser.parseCommaSeparatedList(
      [&] { return parseFeatureType(parser, types.emplace_back()); });
}

Type FeatureType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<Structure> structure = parseStructure(parser);
  if (failed(structure) || parser.parseGreater())
    return {};
  return FeatureType::get(parser.getContext(), *structure);
}

void FeatureType::print(AsmPrinter &printer) const {
  printer << "<" << getStructure().str() << ">";
}

Type WeightType::parse(AsmParser &parser) {
  SmallVector<int64_t> sizes;
  if (parser.parseLess() || parseSizes(parser, sizes) || parser.parseGreater())
    return {};
  return WeightType::get(parser.getContext(), sizes);
}

void WeightType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << ">";
}

using Operands = ArrayRef<OpAsmParser::UnresolvedOperand>;

/// An operand as the program has it, "%x" or "%o#1".
static std::string nameOf(const OpAsmParser::UnresolvedOperand &operand) {
  return operand.name.str() + (operand.number ? "#" + std::to_string(operand.number) : "");
}

/// A type as the program has it, "[8]" or "8x3".
static std::string wordsOf(Type type) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (auto feature = dyn_cast<FeatureType>(type))
    stream << feature.getStructure().str();
  else if (auto weight = dyn_cast<WeightType>(type))
    llvm::interleave(weight.getShape(), stream, "x");
  else
    stream << type;
  return words;
}

static ParseResult checkCount(OpAsmParser &parser, llvm::SMLoc loc, Operands operands,
                              ArrayRef<Type> types) {
  if (operands.size() == types.size())
    return success();
  InFlightDiagnostic error = parser.emitError(loc) << "expected a type for each of ";
  llvm::interleaveComma(operands, error, [&](const auto &one) { error << nameOf(one); });
  return error << " behind the colon, got " << types.size();
}

/// The attribute that is written before the operands, as in `power 2 %x`.
static constexpr StringLiteral kDegree = "degree";

static ParseResult parseOptionalDegree(OpAsmParser &parser, OperationState &result) {
  auto known = result.name.getAttributeNames();
  int64_t degree = 0;
  if (llvm::none_of(known, [](StringAttr name) { return name == kDegree; }))
    return success();
  OptionalParseResult given = parser.parseOptionalInteger(degree);
  if (!given.has_value())
    return success();
  if (failed(*given))
    return failure();
  result.addAttribute(kDegree, parser.getBuilder().getI64IntegerAttr(degree));
  return success();
}

ParseResult polyattn::parseFeatureOperands(OpAsmParser &parser, OperationState &result,
                                           OperandKinds kinds) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  if (parseOptionalDegree(parser, result))
    return failure();
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) || parseOptionalAttributes(parser, result))
    return failure();
  if (!operands.empty() && (parser.parseColon() || parseFeatureTypes(parser, types)))
    return failure();
  if (checkCount(parser, loc, operands, types))
    return failure();
  // Result types are inferred from these, so that their kinds are checked first.
  int count = types.size();
  int features = kinds.features < 0 ? count : kinds.features;
  if (count < features + kinds.minWeights || count > features + kinds.maxWeights)
    return parser.emitError(loc) << "'" << result.name << "' takes " << features + kinds.minWeights
                                 << (kinds.maxWeights > kinds.minWeights ? " or more" : "")
                                 << " operands, got " << count;
  for (auto [i, type] : llvm::enumerate(types)) {
    bool feature = int(i) < features;
    if (!feature && kinds.weightsMayBeVectors && isa<FeatureType>(type))
      continue;
    if (feature ? !isa<FeatureType>(type) : !isa<WeightType>(type))
      return parser.emitError(loc)
             << nameOf(operands[i]) << " of '" << result.name << "' must be a "
             << (feature ? "feature vector" : "weight") << ", got " << wordsOf(type);
  }
  return parser.resolveOperands(operands, types, loc, result.operands);
}

static bool isOf(OperandKind kind, Type type) {
  switch (kind) {
  case OperandKind::Feature:
    return isa<FeatureType>(type);
  case OperandKind::Tensor:
    return isa<RankedTensorType>(type);
  case OperandKind::State:
    return isa<StateType>(type);
  }
  llvm_unreachable("an operand of no kind");
}

static StringRef wordsOf(OperandKind kind) {
  switch (kind) {
  case OperandKind::Feature:
    return "feature vector";
  case OperandKind::Tensor:
    return "tensor";
  case OperandKind::State:
    return "state";
  }
  llvm_unreachable("an operand of no kind");
}

ParseResult OperandSegments::parseOptional(OpAsmParser &parser, StringRef keyword, size_t segment) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  sizes[segment] = 1;
  return parser.parseOperand(operands.emplace_back());
}

void polyattn::printOptionalOperand(OpAsmPrinter &printer, StringRef keyword, Value operand) {
  if (operand)
    printer << " " << keyword << " " << operand;
}

ParseResult polyattn::parseEndOfSegments(OpAsmParser &parser, OperationState &result,
                                         const OperandSegments &segments, StringAttr sizesName,
                                         llvm::function_ref<OperandKind(int64_t)> kindOf) {
  SmallVector<Type> types;
  if (parseOptionalAttributes(parser, result) || parser.parseColon() ||
      parseFeatureTypes(parser, types) ||
      checkCount(parser, segments.loc, segments.operands, types) ||
      parser.resolveOperands(segments.operands, types, segments.loc, result.operands))
    return failure();
  result.addAttribute(sizesName, parser.getBuilder().getDenseI32ArrayAttr(segments.sizes));
  // Types that the assembly does not constrain are checked before anything is inferred from them.
  for (auto [i, type] : llvm::enumerate(types))
    if (!isOf(kindOf(i), type))
      return parser.emitError(segments.loc) << nameOf(segments.operands[i]) << " must be a "
                                            << wordsOf(kindOf(i)) << ", got " << wordsOf(type);
  return success();
}

ParseResult polyattn::parseStateOperands(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands) || parseOptionalAttributes(parser, result) ||
      parser.parseColonTypeList(types) || checkCount(parser, loc, operands, types) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  for (auto [operand, type] : llvm::zip(operands, types))
    if (!isa<StateType>(type))
      return parser.emitError(loc) << nameOf(operand) << " must be a state, got " << wordsOf(type);
  return success();
}

void polyattn::printStateView(OpAsmPrinter &printer, Operation *op) {
  printer << " " << op->getOperands();
  printOptionalAttributes(printer, op->getAttrs());
  printer << " : " << op->getOperandTypes();
}

void polyattn::printFeatureOp(OpAsmPrinter &printer, Operation *op) {
  auto degree = op->getAttrOfType<IntegerAttr>(kDegree);
  if (degree)
    printer << " " << degree.getInt();
  if (op->getNumOperands())
    printer << " " << op->getOperands();
  SmallVector<NamedAttribute> others = llvm::filter_to_vector(
      op->getAttrs(), [](NamedAttribute one) { return one.getName() != kDegree; });
  printOptionalAttributes(printer, others);
  if (op->getNumOperands()) {
    printer << " : ";
    printFeatureTypes(printer, op, op->getOperandTypes());
  }
}

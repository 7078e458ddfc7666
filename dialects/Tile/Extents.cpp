//===- Extents.cpp - sizes that a launch decides, as text -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Extents.h"

using namespace mlir;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// An extent whose parts are not all known yet.
struct Parts {
  ExtentBase base = ExtentBase::Number;
  int64_t tensor = 0, dimension = 0, plus = 0, divisor = 1, times = 1;
};
} // namespace

/// `dim(t, d)` or the name of a choice.
static ParseResult parseBase(AsmParser &parser, Parts &parts) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<ExtentBase> base = symbolizeExtentBase(word);
  if (!base || *base == ExtentBase::Number)
    return parser.emitError(loc, "expected a number, dim(tensor, dimension), segments, splits or "
                                 "parts, got '")
           << word << "'";
  parts.base = *base;
  if (*base != ExtentBase::Dimension)
    return success();
  return failure(parser.parseLParen() || parser.parseInteger(parts.tensor) || parser.parseComma() ||
                 parser.parseInteger(parts.dimension) || parser.parseRParen());
}

/// A base and what is added to it: `+ n` or `- n`.
static ParseResult parseSum(AsmParser &parser, Parts &parts) {
  if (parseBase(parser, parts))
    return failure();
  if (succeeded(parser.parseOptionalPlus()))
    return parser.parseInteger(parts.plus);
  // The minus belongs to the number.
  OptionalParseResult number = parser.parseOptionalInteger(parts.plus);
  return number.has_value() ? *number : ParseResult(success());
}

static ParseResult parseFactor(AsmParser &parser, Parts &parts) {
  if (succeeded(parser.parseOptionalLParen()))
    return failure(parseSum(parser, parts) || parser.parseRParen());
  if (succeeded(parser.parseOptionalKeyword("ceildiv")))
    return failure(parser.parseLParen() || parseSum(parser, parts) || parser.parseComma() ||
                   parser.parseInteger(parts.divisor) || parser.parseRParen());
  return parseBase(parser, parts);
}

static FailureOr<ExtentAttr> parseExtentValue(AsmParser &parser) {
  Parts parts;
  int64_t number;
  OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  if (isNumber.has_value()) {
    if (*isNumber)
      return failure();
    if (failed(parser.parseOptionalStar()))
      return ExtentAttr::number(parser.getContext(), number);
    parts.times = number;
    if (parseFactor(parser, parts))
      return failure();
  } else if (succeeded(parser.parseOptionalKeyword("ceildiv"))) {
    if (parser.parseLParen() || parseSum(parser, parts) || parser.parseComma() ||
        parser.parseInteger(parts.divisor) || parser.parseRParen())
      return failure();
  } else if (parseSum(parser, parts)) {
    return failure();
  }
  return ExtentAttr::get(parser.getContext(), parts.base, parts.tensor, parts.dimension, parts.plus,
                         parts.divisor, parts.times);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printSum(raw_ostream &stream, ExtentAttr extent) {
  stream << stringifyExtentBase(extent.getBase());
  if (extent.getBase() == ExtentBase::Dimension)
    stream << "(" << extent.getTensor() << ", " << extent.getDimension() << ")";
  if (extent.getPlus() > 0)
    stream << " + " << extent.getPlus();
  else if (extent.getPlus() < 0)
    stream << " - " << -uint64_t(extent.getPlus());
}

static void printExtentValue(raw_ostream &stream, ExtentAttr extent) {
  if (extent.isNumber()) {
    stream << extent.getPlus();
    return;
  }
  if (extent.getTimes() != 1)
    stream << extent.getTimes() << " * ";
  bool divides = extent.getDivisor() != 1;
  bool encloses = !divides && extent.getTimes() != 1 && extent.getPlus() != 0;
  stream << (divides ? "ceildiv(" : encloses ? "(" : "");
  printSum(stream, extent);
  if (divides)
    stream << ", " << extent.getDivisor();
  stream << (divides || encloses ? ")" : "");
}

//===----------------------------------------------------------------------===//
// Attributes and lists of them
//===----------------------------------------------------------------------===//

Attribute ExtentAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ExtentAttr> extent = parseExtentValue(parser);
  if (failed(extent) || parser.parseGreater())
    return {};
  return *extent;
}

void ExtentAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printExtentValue(printer.getStream(), *this);
  printer << ">";
}

ParseResult polyattn::tile::parseExtent(OpAsmParser &parser, ExtentAttr &extent) {
  FailureOr<ExtentAttr> parsed = parseExtentValue(parser);
  if (failed(parsed))
    return failure();
  extent = *parsed;
  return success();
}

void polyattn::tile::printExtent(OpAsmPrinter &printer, Operation *, ExtentAttr extent) {
  printExtentValue(printer.getStream(), extent);
}

ParseResult polyattn::tile::parseExtents(OpAsmParser &parser, ArrayAttr &extents) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        ExtentAttr extent;
        if (parseExtent(parser, extent))
          return failure();
        list.push_back(extent);
        return success();
      }))
    return failure();
  extents = ArrayAttr::get(parser.getContext(), list);
  return success();
}

void polyattn::tile::printExtents(OpAsmPrinter &printer, Operation *, ArrayAttr extents) {
  printer << "[";
  llvm::interleaveComma(extents.getAsRange<ExtentAttr>(), printer.getStream(),
                        [&](ExtentAttr extent) { printExtentValue(printer.getStream(), extent); });
  printer << "]";
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The word of an enumerator that `symbolize` knows, or a diagnostic that says what is expected.
template <typename Attribute, typename Enum>
static ParseResult parseWord(OpAsmParser &parser, Attribute &attribute,
                             std::optional<Enum> (*symbolize)(StringRef),
                             std::string (*expected)()) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Enum> value = symbolize(word);
  if (!value)
    return parser.emitError(loc, "expected ") << expected() << ", got '" << word << "'";
  attribute = Attribute::get(parser.getContext(), *value);
  return success();
}

static std::optional<ExtentBase> symbolizeChoice(StringRef word) {
  std::optional<ExtentBase> base = symbolizeExtentBase(word);
  return base && *base > ExtentBase::Dimension ? base : std::nullopt;
}

static std::string allRoles() {
  auto names = llvm::map_range(llvm::seq_inclusive(0u, getMaxEnumValForStageRole()),
                               [](unsigned i) { return stringifyStageRole(StageRole(i)); });
  return "the role of a stage, one of " + llvm::join(names, ", ");
}

ParseResult polyattn::tile::parseChoice(OpAsmParser &parser, ExtentBaseAttr &kind) {
  return parseWord(
      parser, kind, symbolizeChoice, +[] { return std::string("segments, splits or parts"); });
}

void polyattn::tile::printChoice(OpAsmPrinter &printer, Operation *, ExtentBaseAttr kind) {
  printer << stringifyExtentBase(kind.getValue());
}

ParseResult polyattn::tile::parseFill(OpAsmParser &parser, WorkspaceFillAttr &fill) {
  return parseWord(
      parser, fill, symbolizeWorkspaceFill, +[] { return std::string("none, zero or launch"); });
}

void polyattn::tile::printFill(OpAsmPrinter &printer, Operation *, WorkspaceFillAttr fill) {
  printer << stringifyWorkspaceFill(fill.getValue());
}

ParseResult polyattn::tile::parseRole(OpAsmParser &parser, StageRoleAttr &role) {
  return parseWord(parser, role, symbolizeStageRole, allRoles);
}

void polyattn::tile::printRole(OpAsmPrinter &printer, Operation *, StageRoleAttr role) {
  printer << stringifyStageRole(role.getValue());
}

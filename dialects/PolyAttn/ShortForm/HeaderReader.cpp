//===- HeaderReader.cpp - reads sizes, arguments and results --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/HeaderReader.h"
#include "dialects/PolyAttn/ShortForm/ArgumentTypes.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

/// (`<` name `=` number, ... `>`)? `(` arguments `)` (`->` `(` results `)`)?
ParseResult HeaderReader::read(StringRef entry) {
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::OptionalLessGreater,
                                     [&] { return readSize(entry); }) ||
      readArguments())
    return failure();
  if (failed(parser.parseOptionalArrow()))
    return success();
  results.emplace();
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        [&] { return readResult(); });
}

static constexpr int64_t kMostSize = FeatureType::kMaxVector;

ParseResult HeaderReader::readSize(StringRef entry) {
  StringRef name;
  SMLoc loc;
  if (expressions.parseNewName(scope, name) || parser.parseEqual())
    return failure();
  FailureOr<int64_t> own = values.readWhole(&loc);
  if (failed(own))
    return failure();
  int64_t size = session.bind(entry, name).value_or(*own);
  if (size < 1 || size > kMostSize)
    return errorAt(parser, loc) << "expected a size of 1 to " << kMostSize << " for '" << name
                                << "', got " << size;
  scope.define(name, Meaning{{}, double(size)});
  if (NameObserver *observer = session.getObserver())
    observer->define(name, "size " + llvm::Twine(size));
  return success();
}

/// `(` name (`,` name)* `:` type, ... `)`
ParseResult HeaderReader::readArguments() {
  SmallVector<std::pair<StringRef, SMLoc>> waiting;
  auto readOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (expressions.parseNewName(scope, name))
      return failure();
    // Names without a type yet mean nothing.
    scope.define(name, {});
    waiting.emplace_back(name, loc);
    if (failed(parser.parseOptionalColon()))
      return success();
    const ArgumentKind *kind;
    RankedTensorType type;
    if (readType(kind, type))
      return failure();
    for (const auto &[one, oneLoc] : waiting)
      if (addArgument(one, oneLoc, *kind, type))
        return failure();
    waiting.clear();
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, readOne))
    return failure();
  if (!waiting.empty())
    return errorAt(parser, waiting.front().second)
           << "'" << waiting.front().first << "' has no type: `" << waiting.front().first
           << ": seq[64]`";
  result.addAttribute("arg_names", parser.getBuilder().getArrayAttr(argumentNames));
  return success();
}

ParseResult HeaderReader::addArgument(StringRef name, SMLoc loc, const ArgumentKind &kind,
                                      RankedTensorType type) {
  if (!kind.clause.empty()) {
    if (result.attributes.get(kind.clause))
      return errorAt(parser, loc) << "an attention has one argument `" << kind.name << "`";
    result.addAttribute(kind.clause,
                        parser.getBuilder().getI64IntegerAttr(int64_t(argumentNames.size())));
  }
  argumentNames.push_back(parser.getBuilder().getStringAttr(name));
  Value argument = body.addArgument(type, parser.getEncodedSourceLoc(loc));
  scope.define(name, Meaning{argument});
  if (NameObserver *observer = session.getObserver())
    observer->define(name, "argument " + llvm::to_string(type));
  return success();
}

/// kind (`[` size (`,` size)* `]`)? elements?
ParseResult HeaderReader::readType(const ArgumentKind *&kind, RankedTensorType &type) {
  SmallVector<StringRef> names;
  for (const ArgumentKind &one : allArgumentKinds())
    names.push_back(one.name);
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (expressions.parseWord(names, "what the argument is", name))
    return failure();
  kind = findArgumentKind(name);
  SmallVector<int64_t> shape(kind->lead);
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::OptionalSquare,
                                     [&] { return readTypeSize(shape); }))
    return failure();
  size_t count = shape.size() - kind->lead.size();
  if (count < kind->leastSizes || count > kind->mostSizes) {
    InFlightDiagnostic error = errorAt(parser, loc);
    error << "expected `" << kind->name << "` with ";
    if (kind->leastSizes != kind->mostSizes)
      error << kind->leastSizes << " or ";
    return error << kind->mostSizes << " sizes, got " << count;
  }
  Type elements;
  if (readElements(*kind, elements))
    return failure();
  Attribute encoding;
  if (kind->sharedHeads)
    encoding = SharedHeadsAttr::get(elements.getContext());
  type = RankedTensorType::get(shape, elements, encoding);
  return success();
}

ParseResult HeaderReader::readTypeSize(SmallVectorImpl<int64_t> &shape) {
  SMLoc loc;
  FailureOr<int64_t> size = values.readWhole(&loc);
  if (succeeded(size) && (*size < 1 || *size > kMostSize))
    return errorAt(parser, loc) << "expected a size of 1 to " << kMostSize << ", got " << *size;
  shape.push_back(size.value_or(1));
  return success(succeeded(size));
}

/// `f32`, `bf16` or `f16`, and `i64` or `i32` of whole numbers.
ParseResult HeaderReader::readElements(const ArgumentKind &kind, Type &elements) {
  Builder &builder = parser.getBuilder();
  bool isWhole = kind.elements == ArgumentKind::Elements::Whole;
  elements = isWhole ? Type(builder.getI64Type()) : Type(builder.getF32Type());
  SmallVector<std::pair<StringRef, Type>> known = {{"f32", builder.getF32Type()}};
  if (kind.elements == ArgumentKind::Elements::Storage)
    known.append({{"bf16", builder.getBF16Type()}, {"f16", builder.getF16Type()}});
  if (isWhole)
    known = {{"i64", builder.getI64Type()}, {"i32", builder.getI32Type()}};
  if (!llvm::isAlpha(nextCharacter(parser)) || isNextWord(parser, "in"))
    return success();
  SmallVector<StringRef> names(llvm::make_first_range(known));
  StringRef name;
  if (expressions.parseWord(names, "the type of the elements", name))
    return failure();
  elements = llvm::find_if(known, [&](const auto &one) { return one.first == name; })->second;
  return success();
}

/// name (`:` type)? (`in` argument)?
ParseResult HeaderReader::readResult() {
  ResultText &text = results->emplace_back();
  const ArgumentKind *kind;
  if (expressions.parseNewName(scope, text.name) ||
      (succeeded(parser.parseOptionalColon()) && readType(kind, text.type)))
    return failure();
  return succeeded(parser.parseOptionalKeyword("in")) ? readPlace(text.place) : success();
}

/// The number of the argument that comes next.
ParseResult HeaderReader::readPlace(int64_t &place) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  const Meaning *meaning = scope.find(name);
  auto argument = meaning ? dyn_cast_if_present<BlockArgument>(meaning->value) : BlockArgument();
  if (argument) {
    if (NameObserver *observer = session.getObserver())
      observer->use(name, scope.findDefinition(name));
    place = argument.getArgNumber();
    return success();
  }
  SmallVector<StringRef> names;
  for (Attribute one : argumentNames)
    names.push_back(cast<StringAttr>(one).getValue());
  return ExpressionParser::suggest(errorAt(parser, loc) << "there is no argument '" << name << "'",
                                   name, names);
}

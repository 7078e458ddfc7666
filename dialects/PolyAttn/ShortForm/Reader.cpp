//===- Reader.cpp - reads an attention in the short form ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/Reader.h"
#include "dialects/PolyAttn/ShortForm/AttendReader.h"
#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

ParseResult shortform::parseAttention(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes))
    return failure();
  Dialect *dialect = result.name.getDialect();
  auto *session = dialect->getRegisteredInterface<ReadingSession>();
  if (session && session->hasBegun())
    return Reader(parser, result, *session).read(name.getValue());
  // Who has not begun a session trusts the text: each attention counts for itself.
  ReadingSession own(dialect);
  return Reader(parser, result, own).read(name.getValue());
}

Reader::Reader(OpAsmParser &parser, OperationState &result, ReadingSession &session)
    : parser(parser), result(result), session(session), region(result.addRegion()),
      maker(parser, session, region->emplaceBlock()), evaluator(maker),
      expressions(parser, session, maps), values(expressions, evaluator, scope),
      header(parser, result, region->front(), session, expressions, values, scope) {}

ParseResult Reader::read(StringRef entry) {
  if (header.read(entry) || parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseLBrace())
    return failure();
  bool isReturn = false;
  while (!isReturn)
    if (readStatement(isReturn))
      return failure();
  return parser.parseRBrace();
}

void Reader::tell(StringRef name, const llvm::Twine &about) {
  if (NameObserver *observer = session.getObserver())
    observer->define(name, about);
}

ParseResult Reader::readStatement(bool &isReturn) {
  SMLoc loc = parser.getCurrentLocation();
  if (isNameBefore(parser, "=,"))
    return readAssignment();
  if (succeeded(parser.parseOptionalKeyword(kMap)))
    return readMap();
  if (succeeded(parser.parseOptionalKeyword(kRead)))
    return readReads();
  isReturn = succeeded(parser.parseOptionalKeyword(kReturn));
  if (isReturn)
    return readReturn();
  return errorAt(parser, loc) << "expected `name = expression`, `map`, `read` or `return`";
}

/// name (`,` name)*, arguments that are read here and not where they are used first.
ParseResult Reader::readReads() {
  do {
    SMLoc loc;
    FailureOr<Meaning> meaning = values.readMeaning(&loc);
    if (failed(meaning) || failed(maker.read(loc, *meaning)))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

/// name `(` names `)` (`=` expression | `{` statements `return` expression `}`)
ParseResult Reader::readMap() {
  SMLoc loc = parser.getCurrentLocation();
  auto map = std::make_unique<Map>();
  map->scope = &scope;
  if (parser.parseKeyword(&map->name))
    return failure();
  tell(map->name, "map");
  StringRef name = map->name;
  if (findFunction(name) || llvm::is_contained({"attend", "sqrt", "keep"}, name))
    return errorAt(parser, loc) << "'" << name << "' is a function of the language, and no map";
  if (maps.contains(name))
    return errorAt(parser, loc) << "there is a map '" << name << "' already";
  // Parameters stand for nothing yet, and hide names outside of the map.
  Scope parameters, inner(&scope);
  auto readParameter = [&]() -> ParseResult {
    if (expressions.parseNewName(parameters, map->parameters.emplace_back()))
      return failure();
    parameters.define(map->parameters.back(), {});
    tell(map->parameters.back(), "operand of the map " + map->name);
    inner.define(map->parameters.back(), {});
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, readParameter))
    return failure();
  if (succeeded(parser.parseOptionalEqual())) {
    if (expressions.parse(inner, map->result))
      return failure();
  } else if (readMapBody(*map, inner)) {
    return failure();
  }
  map->depth = map->result->depth;
  for (const Assignment &statement : map->statements)
    map->depth = std::max(map->depth, statement.value->depth);
  StringRef text(loc.getPointer(), parser.getCurrentLocation().getPointer() - loc.getPointer());
  tell(name, "map " + text.take_front(text.find("//")).rtrim());
  maps[name] = std::move(map);
  return success();
}

ParseResult Reader::readMapBody(Map &map, Scope &names) {
  if (failed(parser.parseOptionalLBrace()))
    return errorAt(parser, parser.getCurrentLocation())
           << "expected `=` and the map's expression, or `{` and its statements";
  // What the map names hides names outside of it.
  Scope own;
  for (StringRef parameter : map.parameters)
    own.define(parameter, {});
  while (isNameBefore(parser, "=")) {
    Assignment &statement = map.statements.emplace_back();
    statement.loc = parser.getCurrentLocation();
    if (expressions.parseNewName(own, statement.name) || parser.parseEqual() ||
        expressions.parse(names, statement.value))
      return failure();
    own.define(statement.name, {});
    tell(statement.name, "name in the map " + map.name);
    names.define(statement.name, {});
  }
  return failure(parser.parseKeyword(kReturn) || expressions.parse(names, map.result) ||
                 parser.parseRBrace());
}

/// name (`,` name)* `=` (attend | expression)
ParseResult Reader::readAssignment() {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringRef> names;
  do
    if (expressions.parseNewName(scope, names.emplace_back()))
      return failure();
  while (succeeded(parser.parseOptionalComma()));
  if (parser.parseEqual())
    return failure();
  SmallVector<Meaning> meanings;
  if (AttendReader::isNext(parser)) {
    FailureOr<Operation *> op = AttendReader(parser, expressions, values, maker).read();
    if (failed(op))
      return failure();
    for (Value value : (*op)->getResults())
      meanings.push_back({value});
  } else {
    FailureOr<Meaning> meaning = values.readMeaning();
    if (failed(meaning))
      return failure();
    meanings.push_back(*meaning);
  }
  if (meanings.size() != names.size())
    return errorAt(parser, loc) << "expected as many names as results, " << meanings.size()
                                << ", got " << names.size();
  for (auto [name, meaning] : llvm::zip(names, meanings)) {
    if (scope.find(name))
      return errorAt(parser, loc) << "the name '" << name << "' is given twice";
    scope.define(name, meaning);
    tell(name, meaning.isNumber() ? "number " + llvm::to_string(meaning.number)
                                  : llvm::to_string(meaning.value.getType()));
  }
  return success();
}

/// attend | expression (`,` expression)*
ParseResult Reader::readReturn() {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Value> returned;
  if (AttendReader::isNext(parser)) {
    FailureOr<Operation *> op = AttendReader(parser, expressions, values, maker).read();
    if (failed(op))
      return failure();
    llvm::append_range(returned, (*op)->getResults());
    return addResults(loc, returned);
  }
  do {
    SMLoc own;
    FailureOr<Meaning> meaning = values.readMeaning(&own);
    if (failed(meaning))
      return failure();
    bool isState = isa_and_nonnull<OpResult>(meaning->value);
    FailureOr<Value> value = isState ? meaning->value : maker.readVector(own, *meaning);
    if (failed(value))
      return failure();
    returned.push_back(*value);
  } while (succeeded(parser.parseOptionalComma()));
  return addResults(loc, returned);
}

/// What sequences hold; f32 without one.
static Type storageOf(Block &body) {
  for (BlockArgument argument : body.getArguments())
    if (auto type = cast<RankedTensorType>(argument.getType());
        type.getRank() == 4 && type.isDynamicDim(2))
      return type.getElementType();
  return Float32Type::get(body.getParent()->getContext());
}

Type shortform::standardResultType(Value value, Block &body) {
  auto feature = dyn_cast<FeatureType>(value.getType());
  constexpr int64_t any = ShapedType::kDynamic;
  return feature ? RankedTensorType::get({any, any, any, feature.getWidth()}, storageOf(body))
                 : value.getType();
}

ParseResult Reader::addResults(SMLoc loc, ValueRange values) {
  Builder &builder = parser.getBuilder();
  const std::optional<std::vector<ResultText>> &results = header.getResults();
  if (results && results->size() != values.size())
    return errorAt(parser, loc) << "expected " << results->size() << " values, as many as behind "
                                << "`->`, got " << values.size();
  if (!results && values.size() > std::size(kResultNames))
    return errorAt(parser, loc) << "expected names of so many results behind the arguments, as in "
                                << "`-> (o, final)`";
  SmallVector<Attribute> names, types;
  SmallVector<int64_t> places;
  for (auto [i, value] : llvm::enumerate(values)) {
    ResultText text = results ? (*results)[i] : ResultText{kResultNames[i]};
    Type type = text.type ? Type(text.type) : standardResultType(value, region->front());
    names.push_back(builder.getStringAttr(text.name));
    types.push_back(TypeAttr::get(type));
    places.push_back(text.place);
  }
  result.addAttribute("result_names", builder.getArrayAttr(names));
  result.addAttribute("result_types", builder.getArrayAttr(types));
  if (llvm::any_of(places, [](int64_t place) { return place >= 0; }))
    result.addAttribute("result_in", builder.getDenseI64ArrayAttr(places));
  ReturnOp::create(maker.getBuilder(), maker.at(loc), values);
  return success();
}

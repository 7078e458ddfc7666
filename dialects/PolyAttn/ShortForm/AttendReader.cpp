//===- AttendReader.cpp - reads an attend of the short form ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/AttendReader.h"
#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/NormalizerSyntax.h"
#include "dialects/PolyAttn/ShortForm/AttendClauses.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

bool AttendReader::isNext(OpAsmParser &parser) {
  return isNextWord(parser, kAttend) && isNameBefore(parser, "(");
}

static const AttendClause *findClause(StringRef name) {
  const auto *found =
      llvm::find_if(kAttendClauses, [&](const AttendClause &one) { return one.name == name; });
  return found == std::end(kAttendClauses) ? nullptr : found;
}

/// A word that ends the clauses: what begins the next statement.
static bool beginsStatement(OpAsmParser &parser) {
  return isNameBefore(parser, "=,") ||
         llvm::any_of(kStatements, [&](StringRef word) { return isNextWord(parser, word); });
}

FailureOr<Operation *> AttendReader::read() {
  SMLoc loc = parser.getCurrentLocation();
  expressions.tellOfWord(loc, kAttend, kAttend);
  if (parser.parseKeyword(kAttend) || readVectors() || readMask() || readNormalizer())
    return failure();
  llvm::StringSet<> clauses;
  while (llvm::isAlpha(nextCharacter(parser)) && !beginsStatement(parser)) {
    SMLoc clauseLoc = parser.getCurrentLocation();
    StringRef clause;
    if (parser.parseKeyword(&clause))
      return failure();
    if (findClause(clause) && !clauses.insert(clause).second)
      return FailureOr<Operation *>(errorAt(parser, clauseLoc)
                                    << "`" << clause << "` is given twice");
    if (readClause(clause, clauseLoc))
      return failure();
  }
  if (!hasGrouping)
    add("grouping", GroupingAttr::get(maker.getContext(), *symbolizeGrouping(kStandardGrouping)));
  SmallVector<Value> given;
  SmallVector<int32_t> segments;
  for (Value operand : operands) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      given.push_back(operand);
  }
  add("operandSegmentSizes", maker.getBuilder().getDenseI32ArrayAttr(segments));
  return maker.make<AttendOp>(loc, given, attributes);
}

/// `(` query `,` key `,` value `)`
ParseResult AttendReader::readVectors() {
  SMLoc loc = parser.getCurrentLocation();
  size_t count = 0;
  auto parseVector = [&]() -> ParseResult {
    if (count >= 3)
      return errorAt(parser, parser.getCurrentLocation())
             << "attend takes a query, a key and a value";
    return readVector(count++);
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseVector))
    return failure();
  if (count < 3)
    return errorAt(parser, loc) << "attend takes a query, a key and a value, got " << count;
  return success();
}

ParseResult AttendReader::readVector(size_t segment) {
  FailureOr<Value> vector = values.readVector();
  operands[segment] = vector.value_or(Value());
  return success(succeeded(vector));
}

ParseResult AttendReader::readMask() {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringRef> words = kMasks.list();
  if (!llvm::isAlpha(nextCharacter(parser)))
    return errorAt(parser, loc) << "expected the mask, one of " << llvm::join(words, ", ");
  if (expressions.parseWord(words, "the mask", word))
    return failure();
  expressions.tellOfWord(loc, word, word);
  add("mask", kMasks.get(maker.getContext(), word));
  return success();
}

/// `normalize` (`none` | `sum` | `bias` | `softmax`) (`(` fields `)`)?
ParseResult AttendReader::readNormalizer() {
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("normalize")))
    return errorAt(parser, loc)
           << "expected `normalize` and none, sum(eps), bias(number) or softmax: a normalizer has "
              "no default";
  NormalizerReader reader(parser, [&](SMLoc loc) { return errorAt(parser, loc); });
  auto parseNumber = [&](double &number) { return readNumber(number); };
  bool isFirst = true;
  // A number without a name comes first.
  auto parseField = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    bool mayBeMain = std::exchange(isFirst, false) && reader.hasMainField();
    if (isNameBefore(parser, "="))
      return reader.readField(parseNumber);
    if (mayBeMain)
      return reader.readMainField(parseNumber);
    return errorAt(parser, loc) << "expected `name = value`, as in reduce = mean";
  };
  SMLoc kindLoc = parser.getCurrentLocation();
  if (reader.readKind())
    return failure();
  StringRef kind = stringifyNormalizerKind(reader.getKind());
  expressions.tellOfWord(loc, "normalize", ("normalize " + kind).str());
  expressions.tellOfWord(kindLoc, kind, ("normalize " + kind).str());
  if (nextCharacter(parser) == '(' &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseField))
    return failure();
  NormalizerAttr normalizer = reader.finish("sum(0)", "bias(1)");
  add("normalizer", normalizer);
  return success(bool(normalizer));
}

ParseResult AttendReader::readNumber(double &number) {
  FailureOr<double> value = values.readNumber();
  number = value.value_or(0);
  return success(succeeded(value));
}

ParseResult AttendReader::readClause(StringRef name, SMLoc loc) {
  const AttendClause *clause = findClause(name);
  double number;
  if (!clause) {
    SmallVector<StringRef> names;
    for (const AttendClause &one : kAttendClauses)
      names.push_back(one.name);
    return ExpressionParser::suggest(
        errorAt(parser, loc) << "attend has no clause '" << name << "'", name, names);
  }
  expressions.tellOfWord(loc, name, name);
  switch (clause->kind) {
  case AttendClause::Kind::Flag:
    add(name, maker.getBuilder().getUnitAttr());
    return success();
  case AttendClause::Kind::Whole: {
    FailureOr<int64_t> whole = values.readWhole();
    if (succeeded(whole))
      add(name, maker.getBuilder().getI64IntegerAttr(*whole));
    return success(succeeded(whole));
  }
  case AttendClause::Kind::Number:
    if (readNumber(number))
      return failure();
    add(name, maker.getBuilder().getF64FloatAttr(number));
    return success();
  case AttendClause::Kind::Word:
    return readWord(name);
  case AttendClause::Kind::Tensor:
    return readTensor(clause->segment);
  case AttendClause::Kind::Vector:
    return readVector(clause->segment);
  case AttendClause::Kind::Local:
    return readLocal();
  case AttendClause::Kind::Factors:
    return readDecayFactors();
  case AttendClause::Kind::Schedule: {
    ScheduleAttr schedule;
    if (parser.parseAttribute(schedule))
      return failure();
    add(name, schedule);
    return success();
  }
  }
  llvm_unreachable("every clause is read above");
}

/// `(` query `,` key `)`
ParseResult AttendReader::readLocal() {
  return failure(parser.parseLParen() || readVector(3) || parser.parseComma() || readVector(4) ||
                 parser.parseRParen());
}

ParseResult AttendReader::readTensor(size_t segment) {
  SMLoc loc;
  FailureOr<Meaning> meaning = values.readMeaning(&loc);
  if (failed(meaning))
    return failure();
  if (meaning->isNumber() || !isa<RankedTensorType>(meaning->value.getType()))
    return errorAt(parser, loc) << "expected an argument of the attention, got "
                                << kindOf(*meaning);
  operands[segment] = meaning->value;
  return success();
}

ParseResult AttendReader::readWord(StringRef clause) {
  const EnumWords &known = *findEnumWords(clause);
  SmallVector<StringRef> words = known.list();
  bool isGrouping = clause == "grouping";
  if (isGrouping)
    words.push_back(kNoGrouping);
  StringRef word;
  if (expressions.parseWord(words, clause, word))
    return failure();
  hasGrouping |= isGrouping;
  if (!isGrouping || word != kNoGrouping)
    add(clause, known.get(maker.getContext(), word));
  return success();
}

/// `(` number (`,` number)* `)`
ParseResult AttendReader::readDecayFactors() {
  SmallVector<double> factors;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     [&] { return readNumber(factors.emplace_back()); }))
    return failure();
  add("decay_factors", maker.getBuilder().getDenseF64ArrayAttr(factors));
  return success();
}

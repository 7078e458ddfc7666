//===- ExpressionParser.cpp - reads expressions of the short form ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/ExpressionParser.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"
#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "dialects/PolyAttn/ShortForm/Words.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::shortform;

using Kind = Expression::Kind;

ParseResult ExpressionParser::suggest(InFlightDiagnostic error, StringRef name,
                                      ArrayRef<StringRef> names) {
  return error << didYouMean(name, names);
}

ParseResult ExpressionParser::parseWord(ArrayRef<StringRef> words, StringRef what,
                                        StringRef &word) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (llvm::is_contained(words, word))
    return success();
  return suggest(errorAt(parser, loc) << "expected " << what << ", one of "
                                      << llvm::join(words, ", ") << ", got '" << word << "'",
                 word, words);
}

/// A name that nothing at this place has.
ParseResult ExpressionParser::parseNewName(const Scope &names, StringRef &name) {
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&name)))
    return errorAt(parser, loc) << "expected a name";
  if (llvm::is_contained(kStatements, name))
    return errorAt(parser, loc) << "'" << name << "' is a word of the language, and no name";
  if (names.find(name))
    return errorAt(parser, loc) << "there is a '" << name << "' already: a name means one thing";
  return success();
}

ParseResult ExpressionParser::parse(const Scope &names, ExpressionPtr &result) {
  scope = &names;
  return parseSum(result);
}

ParseResult ExpressionParser::finish(ExpressionPtr expression, ExpressionPtr &result) {
  auto contain = [&](const ExpressionPtr &part) {
    if (part)
      expression->depth = std::max(expression->depth, part->depth + 1);
  };
  llvm::for_each(expression->operands, contain);
  for (const NamedOperand &named : expression->named)
    contain(named.value);
  for (const IndexRange &range : expression->ranges) {
    contain(range.start);
    contain(range.stop);
  }
  // Operands of a map are evaluated before it is.
  if (expression->map)
    expression->depth = std::max(expression->depth, expression->map->depth + 1);
  if (expression->depth > ReadingLimits::kDepth)
    return errorAt(parser, expression->loc)
           << "expressions are more than " << ReadingLimits::kDepth
           << " deep inside each other, maps included: give a part a name of its own";
  if (!session.addSteps(1))
    return errorAt(parser, expression->loc)
           << "the expressions of a spec have at most " << ReadingLimits::kSteps << " parts";
  result = std::move(expression);
  return success();
}

ParseResult ExpressionParser::combine(Kind kind, SMLoc loc, ExpressionPtr left, ExpressionPtr right,
                                      ExpressionPtr &result) {
  auto expression = std::make_unique<Expression>(Expression{kind, loc});
  expression->operands.push_back(std::move(left));
  if (right)
    expression->operands.push_back(std::move(right));
  return finish(std::move(expression), result);
}

ParseResult ExpressionParser::nested(function_ref<ParseResult()> parse) {
  llvm::scope_exit restore([&] { --nesting; });
  if (++nesting > ReadingLimits::kDepth)
    return errorAt(parser, parser.getCurrentLocation())
           << "expressions are more than " << ReadingLimits::kDepth << " deep inside each other";
  return parse();
}

/// product ((`+` | `-`) product)*
ParseResult ExpressionParser::parseSum(ExpressionPtr &result) {
  if (parseProduct(result))
    return failure();
  while (true) {
    SMLoc loc = parser.getCurrentLocation();
    bool isSum = succeeded(parser.parseOptionalPlus());
    if (!isSum && failed(parser.parseOptionalMinus()))
      return success();
    ExpressionPtr right;
    if (parseProduct(right) || combine(isSum ? Kind::Sum : Kind::Difference, loc, std::move(result),
                                       std::move(right), result))
      return failure();
  }
}

/// factor ((`*` | `/`) factor)*
ParseResult ExpressionParser::parseProduct(ExpressionPtr &result) {
  if (parseFactor(result))
    return failure();
  while (true) {
    SMLoc loc = parser.getCurrentLocation();
    bool isProduct = succeeded(parser.parseOptionalStar());
    if (!isProduct && failed(parser.parseOptionalSlash()))
      return success();
    ExpressionPtr right;
    if (parseFactor(right) || combine(isProduct ? Kind::Product : Kind::Quotient, loc,
                                      std::move(result), std::move(right), result))
      return failure();
  }
}

/// `-` factor | power
ParseResult ExpressionParser::parseFactor(ExpressionPtr &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalMinus()))
    return parsePower(result);
  ExpressionPtr operand;
  if (nested([&] { return parseFactor(operand); }))
    return failure();
  return combine(Kind::Negation, loc, std::move(operand), nullptr, result);
}

/// selection (`**` factor)?
ParseResult ExpressionParser::parsePower(ExpressionPtr &result) {
  if (parseSelection(result))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (!isNext(parser, "**"))
    return success();
  ExpressionPtr exponent;
  if (parser.parseStar() || parser.parseStar() || nested([&] { return parseFactor(exponent); }))
    return failure();
  return combine(Kind::Power, loc, std::move(result), std::move(exponent), result);
}

/// atom (`[` ranges `]`)*
ParseResult ExpressionParser::parseSelection(ExpressionPtr &result) {
  if (parseAtom(result))
    return failure();
  while (nextCharacter(parser) == '[') {
    auto selection =
        std::make_unique<Expression>(Expression{Kind::Selection, parser.getCurrentLocation()});
    selection->operands.push_back(std::move(result));
    if (parseRanges(selection->ranges) || finish(std::move(selection), result))
      return failure();
  }
  return success();
}

/// `[` range (`,` range)* `]`, a range being `i`, `i:j`, `i:`, `:j` or `:`
ParseResult ExpressionParser::parseRanges(std::vector<IndexRange> &ranges) {
  auto parseRange = [&]() -> ParseResult {
    IndexRange &range = ranges.emplace_back();
    if (nextCharacter(parser) != ':' && nested([&] { return parseSum(range.start); }))
      return failure();
    range.isRange = succeeded(parser.parseOptionalColon());
    if (!range.isRange || nextCharacter(parser) == ',' || nextCharacter(parser) == ']')
      return success();
    return nested([&] { return parseSum(range.stop); });
  };
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseRange);
}

/// number | name | call | `(` sum `)`
ParseResult ExpressionParser::parseAtom(ExpressionPtr &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen()))
    return failure(nested([&] { return parseSum(result); }) || parser.parseRParen());
  if (llvm::isDigit(nextCharacter(parser))) {
    auto number = std::make_unique<Expression>(Expression{Kind::Number, loc});
    if (parseDecimal(parser, number->number))
      return failure();
    return finish(std::move(number), result);
  }
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)))
    return errorAt(parser, loc) << "expected a number, a name, a function or '('";
  if (nextCharacter(parser) == '(')
    return parseCall(loc, name, result);
  return parseNamed(loc, name, result);
}

void ExpressionParser::tellOfWord(SMLoc loc, StringRef word, StringRef name) {
  if (NameObserver *observer = session.getObserver())
    observer->useWord(StringRef(loc.getPointer(), word.size()), aboutWord(name));
}

ParseResult ExpressionParser::parseNamed(SMLoc loc, StringRef name, ExpressionPtr &result) {
  if (!scope->find(name)) {
    SmallVector<StringRef> names;
    scope->list(names);
    llvm::sort(names);
    return suggest(errorAt(parser, loc) << "there is no '" << name << "'", name, names);
  }
  if (NameObserver *observer = session.getObserver())
    observer->use(name, scope->findDefinition(name));
  auto expression = std::make_unique<Expression>(Expression{Kind::Name, loc});
  expression->name = name;
  return finish(std::move(expression), result);
}

static void tellOfCall(NameObserver &observer, const Expression &call) {
  if (call.map)
    return observer.use(call.name, call.map->name);
  observer.useWord(call.name, aboutWord(call.name));
}

ParseResult ExpressionParser::parseCall(SMLoc loc, StringRef name, ExpressionPtr &result) {
  auto call = std::make_unique<Expression>(Expression{Kind::FunctionCall, loc});
  call->name = name;
  if (auto map = maps.find(name); map != maps.end()) {
    call->kind = Kind::MapCall;
    call->map = map->second.get();
  } else if (name == kSquareRoot || name == kKeep) {
    call->kind = name == kSquareRoot ? Kind::SquareRoot : Kind::Keep;
  } else if (name == kAttend) {
    return errorAt(parser, loc) << "`attend` is not part of an expression: it stands behind "
                                   "`return`, or `o =` gives its result a name";
  } else if (!(call->function = findFunction(name))) {
    SmallVector<StringRef> names(maps.keys());
    llvm::sort(names);
    for (const Function &function : allFunctions())
      names.push_back(function.name);
    names.append({kSquareRoot, kKeep});
    return suggest(errorAt(parser, loc) << "there is no function or map '" << name << "'", name,
                   names);
  }
  if (NameObserver *observer = session.getObserver())
    tellOfCall(*observer, *call);
  if (parseOperands(*call) || checkCount(*call) || checkGiven(*call))
    return failure();
  return finish(std::move(call), result);
}

ParseResult ExpressionParser::parseOperands(Expression &call) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    if (isNameBefore(parser, "="))
      return parseParameter(call);
    if (!call.named.empty())
      return errorAt(parser, loc) << "operands come before what is given by name";
    return nested([&] { return parseSum(call.operands.emplace_back()); });
  });
}

/// name `=` value
ParseResult ExpressionParser::parseParameter(Expression &call) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  const Parameter *parameter = call.function ? call.function->find(name) : nullptr;
  if (!parameter) {
    SmallVector<StringRef> names;
    if (call.function)
      for (const Parameter *one : call.function->parameters)
        names.push_back(one->name);
    return suggest(errorAt(parser, loc) << "'" << call.name << "' has no '" << name << "'", name,
                   names);
  }
  if (llvm::any_of(call.named,
                   [&](const NamedOperand &other) { return other.parameter == parameter; }))
    return errorAt(parser, loc) << "'" << name << "' is given twice";
  NamedOperand given{parameter, parser.getCurrentLocation(), nullptr, {}};
  auto list = std::make_unique<Expression>(Expression{Kind::Selection, given.loc});
  ParseResult parsed = success();
  switch (parameter->kind) {
  case Parameter::Kind::Number:
  case Parameter::Kind::Whole:
    parsed = nested([&] { return parseSum(given.value); });
    break;
  case Parameter::Kind::Flag:
    parsed = parseWord({"true", "false"}, name, given.word);
    break;
  case Parameter::Kind::Word:
    parsed = parseWord(parameter->words->list(), name, given.word);
    break;
  case Parameter::Kind::Indices:
    parsed = failure(parseRanges(list->ranges) || finish(std::move(list), given.value));
  }
  call.named.push_back(std::move(given));
  return parsed;
}

static StringRef plural(size_t count) { return count == 1 ? "" : "s"; }

ParseResult ExpressionParser::checkCount(const Expression &call) {
  size_t count = call.operands.size(), least = 1;
  std::optional<size_t> most = 1;
  if (call.map) {
    least = call.map->parameters.size();
    most = least;
  } else if (call.kind == Kind::Keep) {
    most = least = 2;
  } else if (const Function *function = call.function) {
    least = function->leastOperands();
    most = function->mostOperands();
    if (most)
      *most += function->positionalParameters();
  }
  if (count >= least && (!most || count <= *most))
    return success();
  InFlightDiagnostic error = errorAt(parser, call.loc);
  error << "'" << call.name << "' takes ";
  if (!most)
    return error << "at least " << least << " operand" << plural(least) << ", got " << count;
  if (least != *most)
    error << least << " to ";
  return error << *most << " operand" << plural(*most) << ", got " << count;
}

/// What has no standard must be there, by name or behind the operands.
ParseResult ExpressionParser::checkGiven(const Expression &call) {
  if (!call.function)
    return success();
  size_t behind = 0;
  if (std::optional<size_t> most = call.function->mostOperands(); most)
    behind = call.operands.size() - std::min(call.operands.size(), *most);
  for (const Parameter *parameter : call.function->parameters) {
    bool isBehind = parameter->isPositional && behind > 0;
    behind -= isBehind;
    bool isNamed = llvm::any_of(
        call.named, [&](const NamedOperand &given) { return given.parameter == parameter; });
    if (isBehind && isNamed)
      return errorAt(parser, call.loc) << "'" << parameter->name << "' is given twice";
    if (!parameter->isOptional && !isBehind && !isNamed)
      return errorAt(parser, call.loc)
             << "'" << call.name << "' needs `" << parameter->name << "`, which has no default";
  }
  return success();
}

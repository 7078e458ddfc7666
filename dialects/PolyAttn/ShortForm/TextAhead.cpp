//===- TextAhead.cpp - a look at the text that comes next -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/TextAhead.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cstring>

using namespace mlir;
using namespace polyattn;

/// The text ends in a zero, as all that MLIR reads does.
static const char *ahead(AsmParser &parser) { return parser.getCurrentLocation().getPointer(); }

static const char *skipBlanks(const char *text) {
  while (true) {
    while (*text && llvm::isSpace(*text))
      ++text;
    if (text[0] != '/' || text[1] != '/')
      return text;
    while (*text && *text != '\n')
      ++text;
  }
}

static bool isNameCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }

InFlightDiagnostic shortform::errorAt(AsmParser &parser, SMLoc loc) {
  InFlightDiagnostic known = parser.emitError(loc);
  if (!known.getUnderlyingDiagnostic())
    return known;
  known.abandon();
  return mlir::emitError(parser.getEncodedSourceLoc(loc));
}

char shortform::nextCharacter(AsmParser &parser) { return *ahead(parser); }

bool shortform::isNext(AsmParser &parser, StringRef characters) {
  return std::strncmp(ahead(parser), characters.data(), characters.size()) == 0;
}

bool shortform::isNextWord(AsmParser &parser, StringRef word) {
  return isNext(parser, word) && !isNameCharacter(ahead(parser)[word.size()]);
}

bool shortform::isNameBefore(AsmParser &parser, StringRef characters) {
  const char *text = ahead(parser);
  if (!llvm::isAlpha(*text) && *text != '_')
    return false;
  while (isNameCharacter(*text))
    ++text;
  text = skipBlanks(text);
  return *text && characters.contains(*text);
}

bool shortform::isShortForm(AsmParser &parser) {
  const char *text = ahead(parser);
  if (*text++ != '@')
    return false;
  if (*text == '"') {
    for (++text; *text && *text != '"' && *text != '\n'; ++text)
      if (text[0] == '\\' && text[1])
        ++text;
    text += *text == '"';
  }
  while (isNameCharacter(*text) || *text == '-')
    ++text;
  text = skipBlanks(text);
  if (*text == '<')
    return true;
  if (*text != '(')
    return false;
  text = skipBlanks(text + 1);
  return *text != '%' && *text != ')';
}

/// Behind the number that begins here.
static const char *endOfDecimal(const char *text) {
  auto skipDigits = [&] {
    while (llvm::isDigit(*text))
      ++text;
  };
  skipDigits();
  if (*text == '.') {
    ++text;
    skipDigits();
  }
  const char *exponent = text + 1;
  if (*text != 'e' && *text != 'E')
    return text;
  if (*exponent == '+' || *exponent == '-')
    ++exponent;
  if (!llvm::isDigit(*exponent))
    return text;
  text = exponent;
  skipDigits();
  return text;
}

/// Takes one of the tokens that the digits, letters and signs of a number are to MLIR.
static ParseResult skipToken(AsmParser &parser, const char *end) {
  const char *text = ahead(parser);
  if (llvm::isDigit(*text)) {
    StringRef rest(text, end - text);
    double number;
    APInt whole;
    if (rest.take_while(llvm::isDigit).size() < rest.size() &&
        rest[rest.take_while(llvm::isDigit).size()] == '.')
      return parser.parseFloat(number);
    OptionalParseResult result = parser.parseOptionalDecimalInteger(whole);
    return result.has_value() ? *result : ParseResult(failure());
  }
  StringRef word;
  if (succeeded(parser.parseOptionalMinus()) || succeeded(parser.parseOptionalPlus()))
    return success();
  return parser.parseOptionalKeyword(&word);
}

ParseResult shortform::parseDecimal(AsmParser &parser, double &number) {
  SMLoc loc = parser.getCurrentLocation();
  const char *begin = loc.getPointer(), *end = endOfDecimal(begin);
  auto fail = [&]() -> ParseResult {
    return errorAt(parser, loc) << "expected a decimal number such as 64, 0.5 or 1e-6";
  };
  // MLIR's tokens may be longer than the number, as in 2x.
  if (isNameCharacter(*end) || StringRef(begin, end - begin).getAsDouble(number))
    return fail();
  while (ahead(parser) < end)
    if (failed(skipToken(parser, end)))
      return fail();
  return success();
}

std::string shortform::spellDecimal(double number) {
  std::array<char, 32> text;
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  auto [mantissa, exponent] = StringRef(text.data(), end - text.data()).split('e');
  if (exponent.empty())
    return mantissa.str();
  StringRef sign = exponent.front() == '-' ? "-" : "";
  return (mantissa + "e" + sign + exponent.drop_front().ltrim('0')).str();
}

//===- SpecText.cpp - a spec's text before anything parses it -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecText.h"
#include "polyattn/Spec/ParseSpec.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace polyattn;

static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }

/// The length of the token that `text` begins with; `text` begins with no blank and no comment.
static size_t tokenLength(llvm::StringRef text, TextToken::Kind &kind) {
  kind = TextToken::Symbol;
  if (text.starts_with("->"))
    return 2;
  if (text.front() == '"') {
    kind = TextToken::String;
    size_t end = 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  bool sigil = llvm::StringRef("%@#!^").contains(text.front());
  size_t length = sigil;
  while (length < text.size() && isWordCharacter(text[length]))
    ++length;
  if (length > size_t(sigil))
    kind = TextToken::Word;
  return std::max<size_t>(length, 1);
}

void polyattn::forEachToken(llvm::StringRef text,
                            llvm::function_ref<bool(const TextToken &)> visit) {
  while (true) {
    text = text.ltrim(" \t\r\n");
    if (text.empty())
      return;
    if (text.starts_with("//")) {
      text = text.drop_front(std::min(text.find('\n'), text.size()));
      continue;
    }
    TextToken token;
    token.text = text.take_front(tokenLength(text, token.kind));
    text = text.drop_front(token.text.size());
    if (!visit(token))
      return;
  }
}

bool polyattn::holdsKernels(llvm::StringRef text) {
  bool found = false;
  forEachToken(text, [&](const TextToken &token) {
    found = token.kind == TextToken::Word && token.text == "gpu.module";
    return !found;
  });
  return found;
}

namespace {
/// Looks at one token after the other, and remembers the first problem.
class TextCheck {
public:
  bool visit(const TextToken &token) {
    if (token.text.size() > SpecLimits::kWordBytes)
      return fail(token, "a spec has no words and strings of more than " +
                             llvm::Twine(SpecLimits::kWordBytes) + " characters");
    if (token.kind == TextToken::Symbol && !visitSymbol(token))
      return false;
    previous = token;
    return true;
  }
  std::optional<TextProblem> problem;

private:
  bool visitSymbol(const TextToken &token) {
    llvm::StringRef closing = llvm::StringSwitch<llvm::StringRef>(token.text)
                                  .Case("(", ")")
                                  .Case("[", "]")
                                  .Case("{", "}")
                                  .Case("<", ">")
                                  .Default("");
    if (!closing.empty())
      return visitOpening(token, closing);
    // A bracket that closes nothing is left to the parser, and makes no nesting smaller.
    if (!open.empty() && token.text == open.back())
      open.pop_back();
    if (token.text == "=" && isWord(previous) &&
        (previous.text.front() == '#' || previous.text.front() == '!'))
      return fail(previous, "a spec has no aliases of attributes and types");
    // `{-#`: data of any size for any dialect.
    if (token.text == "-" && previous.text == "{")
      return fail(previous, "a spec has no resources");
    return true;
  }

  bool visitOpening(const TextToken &token, llvm::StringRef closing) {
    if (isWord(previous)) {
      bool affine = previous.text == "affine_map" || previous.text == "affine_set";
      if (affine && token.text == "<")
        return fail(previous, "a spec has no affine maps and sets");
      if (previous.text == "loc" && token.text == "(")
        return fail(previous, "a spec has no locations");
    }
    open.push_back(closing);
    if (open.size() > SpecLimits::kNesting)
      return fail(token,
                  "brackets are nested more than " + llvm::Twine(SpecLimits::kNesting) + " deep");
    return true;
  }

  static bool isWord(const TextToken &token) {
    return token.kind == TextToken::Word && !token.text.empty();
  }
  bool fail(const TextToken &token, const llvm::Twine &message) {
    problem = {token.text.begin(), message.str()};
    return false;
  }

  TextToken previous{TextToken::Symbol, ""};
  llvm::SmallVector<llvm::StringRef> open;
};
} // namespace

std::optional<TextProblem> polyattn::findTextProblem(llvm::StringRef text) {
  auto problem = [&](size_t at, const llvm::Twine &message) {
    return TextProblem{text.data() + at, message.str()};
  };
  if (text.size() > SpecLimits::kTextBytes)
    return problem(0, "a spec is a text of at most " + llvm::Twine(SpecLimits::kTextBytes) +
                          " bytes, this one has " + llvm::Twine(text.size()));
  if (text.starts_with("ML\xEFR"))
    return problem(0, "a spec is a text, and this is MLIR bytecode");
  if (size_t zero = text.find('\0'); zero != llvm::StringRef::npos)
    return problem(zero, "a spec is a text, and this is a zero byte");
  TextCheck check;
  forEachToken(text, [&](const TextToken &token) { return check.visit(token); });
  return check.problem;
}

//===- SpecText.h - a spec's text before anything parses it -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_SPEC_SPECTEXT_H
#define POLYATTN_LIB_SPEC_SPECTEXT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace polyattn {

/// One word of a text, a bracket, or another character. Comments and blanks are none.
struct TextToken {
  enum Kind { Word, String, Symbol } kind;
  /// A word with its sigil: `%x`, `@name`, `#attribute`, `!type`, `^block`; a string with its
  /// quotes.
  llvm::StringRef text;
};

/// Calls `visit` with every token until it returns false.
void forEachToken(llvm::StringRef text, llvm::function_ref<bool(const TextToken &)> visit);

struct TextProblem {
  const char *where;
  std::string message;
};

/// What MLIR's parser must not see: it recurses with brackets, affine expressions and locations as
/// deep as the text goes, and aliases let a short text stand for exponentially large attributes.
std::optional<TextProblem> findTextProblem(llvm::StringRef text);

} // namespace polyattn

#endif // POLYATTN_LIB_SPEC_SPECTEXT_H

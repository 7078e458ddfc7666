//===- TextAhead.h - a look at the text that comes next ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser says what its next token is only where it is asked for that token. Where the text
// behind the next token decides, it is looked at itself.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_TEXTAHEAD_H
#define POLYATTN_DIALECTS_SHORTFORM_TEXTAHEAD_H

#include "mlir/IR/OpImplementation.h"

namespace polyattn::shortform {

/// An error of our own words, without "custom op" before them. None where MLIR has said already
/// that the next characters are no token.
mlir::InFlightDiagnostic errorAt(mlir::AsmParser &parser, llvm::SMLoc loc);

/// The next character, 0 at the end of the text.
char nextCharacter(mlir::AsmParser &parser);

/// Whether the next characters, of which none is a blank, are these.
bool isNext(mlir::AsmParser &parser, llvm::StringRef characters);

/// Whether the next token is this word.
bool isNextWord(mlir::AsmParser &parser, llvm::StringRef word);

/// Whether the next token is a name and one of these characters comes behind it.
bool isNameBefore(mlir::AsmParser &parser, llvm::StringRef characters);

/// Whether an attention in the short form begins with the `@name` that comes next: sizes in `<`
/// follow, or arguments that are not written as `%name`.
bool isShortForm(mlir::AsmParser &parser);

/// Reads a number in decimal digits, such as 64, 0.5, 1e-6 or 1.5e+3, of which MLIR's own tokens
/// are some only. The next character is a digit.
mlir::ParseResult parseDecimal(mlir::AsmParser &parser, double &number);

/// The shortest decimal that reads back, 1e-6 and not 1e-06.
std::string spellDecimal(double number);

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_TEXTAHEAD_H

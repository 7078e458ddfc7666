//===- Words.h - the words of the short form --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_WORDS_H
#define POLYATTN_DIALECTS_SHORTFORM_WORDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace polyattn::shortform {

/// A word of the language, with the text that an editor shows of it.
struct Word {
  std::string name, about;
};

/// All of them: statements, functions, `attend`, masks, normalizers and clauses.
const std::vector<Word> &allWords();
/// The text of a word; empty where there is none.
llvm::StringRef aboutWord(llvm::StringRef name);

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_WORDS_H

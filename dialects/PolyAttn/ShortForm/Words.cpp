//===- Words.cpp - the words of the short form ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/ShortForm/Words.h"
#include "dialects/PolyAttn/ShortForm/AttendClauses.h"
#include "dialects/PolyAttn/ShortForm/Functions.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"

using namespace polyattn::shortform;

/// The words that are no functions and no clauses. There is one for each mask and normalizer.
static const std::pair<llvm::StringLiteral, llvm::StringLiteral> kOthers[] = {
    {kMap, "map name(x, w) = expression: is expanded where it is used"},
    {kRead, "x = read argument: the vector at each position and head"},
    {kReturn, "return attend(...), or names of results"},
    {"attend", "attend(query, key, value), a mask, a normalizer and clauses"},
    {"causal", "each query sees the keys up to its own position"},
    {"anticausal", "each query sees the keys from its own position on"},
    {"full", "each query sees all keys"},
    {"normalize none", "sums are divided by nothing, or with reduce = mean by the number of keys"},
    {"normalize sum", "sums are divided by the sum of the scores plus eps: sum(1e-6)"},
    {"normalize bias", "sums are divided by a number plus the sum of the scores: bias(1)"},
    {"normalize softmax", "exponentials of the scores, divided by their sum"},
    {kSquareRoot, "square root of a number"},
    {kKeep, "a value without a change"},
};

static std::string aboutFunction(const Function &function) {
  std::string about = ("the op polyattn." + function.op.split('.').second).str();
  for (const Parameter *parameter : function.parameters)
    about +=
        (parameter == function.parameters.front() ? "\noptions: " : ", ") + parameter->name.str();
  return about;
}

const std::vector<Word> &polyattn::shortform::allWords() {
  static const std::vector<Word> words = [] {
    std::vector<Word> words;
    for (auto [name, about] : kOthers)
      words.push_back({name.str(), about.str()});
    for (const Function &function : allFunctions())
      words.push_back({function.name.str(), aboutFunction(function)});
    for (const AttendClause &clause : kAttendClauses)
      words.push_back({clause.name.str(), clause.about.str()});
    return words;
  }();
  return words;
}

llvm::StringRef polyattn::shortform::aboutWord(llvm::StringRef name) {
  for (const Word &word : allWords())
    if (word.name == name)
      return word.about;
  return {};
}

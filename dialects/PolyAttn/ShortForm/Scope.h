//===- Scope.h - names of the short form and their meaning ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_SCOPE_H
#define POLYATTN_DIALECTS_SHORTFORM_SCOPE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"

namespace polyattn::shortform {

/// What an expression stands for: a value of the program, or a number.
struct Meaning {
  mlir::Value value = {};
  double number = 0;
  bool isNumber() const { return !value; }
};

/// The names that can be used at one place of a text. A map has its parameters and statements
/// before the names around it.
class Scope {
public:
  explicit Scope(const Scope *outer = nullptr) : outer(outer) {}

  /// `name` is part of the text: where it was given.
  void define(llvm::StringRef name, Meaning meaning) { names[name] = {name, meaning}; }

  /// Null where there is no such name.
  const Meaning *find(llvm::StringRef name) const {
    const Given *found = findGiven(name);
    return found ? &found->meaning : nullptr;
  }

  /// Where a name was given, empty where there is no such name.
  llvm::StringRef findDefinition(llvm::StringRef name) const {
    const Given *found = findGiven(name);
    return found ? found->name : llvm::StringRef();
  }

  /// Every name, in no order.
  void list(llvm::SmallVectorImpl<llvm::StringRef> &result) const {
    for (llvm::StringRef name : names.keys())
      result.push_back(name);
    if (outer)
      outer->list(result);
  }

private:
  struct Given {
    llvm::StringRef name;
    Meaning meaning;
  };

  const Given *findGiven(llvm::StringRef name) const {
    if (auto found = names.find(name); found != names.end())
      return &found->second;
    return outer ? outer->findGiven(name) : nullptr;
  }

  const Scope *outer;
  llvm::StringMap<Given> names;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_SCOPE_H

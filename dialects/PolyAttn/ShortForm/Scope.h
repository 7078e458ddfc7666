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

  void define(llvm::StringRef name, Meaning meaning) { names[name] = meaning; }

  /// Null where there is no such name.
  const Meaning *find(llvm::StringRef name) const {
    if (auto found = names.find(name); found != names.end())
      return &found->second;
    return outer ? outer->find(name) : nullptr;
  }

  /// Every name, in no order.
  void list(llvm::SmallVectorImpl<llvm::StringRef> &result) const {
    for (llvm::StringRef name : names.keys())
      result.push_back(name);
    if (outer)
      outer->list(result);
  }

private:
  const Scope *outer;
  llvm::StringMap<Meaning> names;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_SCOPE_H

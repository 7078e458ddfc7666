//===- Expression.h - expressions of the short form -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_EXPRESSION_H
#define POLYATTN_DIALECTS_SHORTFORM_EXPRESSION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SMLoc.h"
#include <memory>
#include <optional>
#include <vector>

namespace polyattn::shortform {

struct Function;
struct Map;
struct Parameter;
class Scope;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// `name = value` of a call: a number, a word of the parameter's, or a list of indices.
struct NamedOperand {
  const Parameter *parameter;
  llvm::SMLoc loc;
  ExpressionPtr value;
  llvm::StringRef word;
};

/// Elements `start` to `stop - 1`, or one element; ends that are left out are those of the vector.
struct IndexRange {
  ExpressionPtr start, stop;
  bool isRange = false;
};

/// Names point into the text that is read.
struct Expression {
  enum class Kind {
    Number,
    Name,
    FunctionCall,
    MapCall,
    SquareRoot,
    Keep,
    Negation,
    Sum,
    Difference,
    Product,
    Quotient,
    Power,
    Selection
  };
  Kind kind;
  llvm::SMLoc loc;
  /// How many expressions are inside each other here, those of maps included.
  int depth = 1;
  double number = 0;
  llvm::StringRef name = {};
  const Function *function = nullptr;
  const Map *map = nullptr;
  llvm::SmallVector<ExpressionPtr, 2> operands = {};
  std::vector<NamedOperand> named = {};
  std::vector<IndexRange> ranges = {};
};

/// `name = value` as a statement.
struct Assignment {
  llvm::StringRef name;
  llvm::SMLoc loc;
  ExpressionPtr value;
};

/// `map name(parameters) = result`, or with statements before the result. A map is expanded where
/// it is called, and calls maps that come before it in the text, so that expansion ends.
struct Map {
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef> parameters;
  std::vector<Assignment> statements;
  ExpressionPtr result;
  /// The names around it.
  const Scope *scope = nullptr;
  int depth = 0;
};

using Maps = llvm::StringMap<std::unique_ptr<Map>>;

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_EXPRESSION_H

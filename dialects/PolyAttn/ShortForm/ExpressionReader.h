//===- ExpressionReader.h - reads what an expression is worth ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_EXPRESSIONREADER_H
#define POLYATTN_DIALECTS_SHORTFORM_EXPRESSIONREADER_H

#include "dialects/PolyAttn/ShortForm/Evaluator.h"
#include "dialects/PolyAttn/ShortForm/ExpressionParser.h"

namespace polyattn::shortform {

/// Parses the next expression of a statement and evaluates it at once. Expressions of maps are
/// parsed only: they are evaluated where the map is used.
class ExpressionReader {
public:
  ExpressionReader(ExpressionParser &expressions, Evaluator &evaluator, const Scope &scope)
      : expressions(expressions), evaluator(evaluator), scope(scope) {}

  /// Stores where the expression stands in the text, if `loc` is given.
  llvm::FailureOr<Meaning> readMeaning(llvm::SMLoc *loc = nullptr) {
    return read(&Evaluator::evaluate, loc);
  }
  /// Likewise, and only a vector will do, or a number, or a whole number.
  llvm::FailureOr<mlir::Value> readVector() { return read(&Evaluator::vector); }
  llvm::FailureOr<double> readNumber() { return read(&Evaluator::number); }
  llvm::FailureOr<int64_t> readWhole(llvm::SMLoc *loc = nullptr) {
    return read(&Evaluator::whole, loc);
  }

private:
  template <typename Result>
  llvm::FailureOr<Result> read(llvm::FailureOr<Result> (Evaluator::*evaluate)(const Expression &,
                                                                              const Scope &),
                               llvm::SMLoc *loc = nullptr) {
    ExpressionPtr expression;
    if (expressions.parse(scope, expression))
      return mlir::failure();
    if (loc)
      *loc = expression->loc;
    return (evaluator.*evaluate)(*expression, scope);
  }

  ExpressionParser &expressions;
  Evaluator &evaluator;
  const Scope &scope;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_EXPRESSIONREADER_H

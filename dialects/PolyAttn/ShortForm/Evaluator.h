//===- Evaluator.h - what expressions of the short form are worth -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_EVALUATOR_H
#define POLYATTN_DIALECTS_SHORTFORM_EVALUATOR_H

#include "dialects/PolyAttn/ShortForm/Expression.h"
#include "dialects/PolyAttn/ShortForm/OpMaker.h"

namespace polyattn::shortform {

/// From expressions to numbers and ops. The recursion is as deep as the expression, and its depth
/// counts the maps that it uses.
class Evaluator {
public:
  explicit Evaluator(OpMaker &maker) : maker(maker) {}

  llvm::FailureOr<Meaning> evaluate(const Expression &expression, const Scope &scope);
  /// Likewise, and only a vector will do, or a number, or a whole number.
  llvm::FailureOr<mlir::Value> vector(const Expression &expression, const Scope &scope);
  llvm::FailureOr<double> number(const Expression &expression, const Scope &scope);
  llvm::FailureOr<int64_t> whole(const Expression &expression, const Scope &scope);

private:
  using Result = llvm::FailureOr<Meaning>;
  Result binary(const Expression &expression, const Scope &scope);
  Result negate(llvm::SMLoc loc, Meaning operand);
  Result add(llvm::SMLoc loc, Meaning left, Meaning right);
  Result subtract(llvm::SMLoc loc, Meaning left, Meaning right);
  Result multiply(llvm::SMLoc loc, Meaning left, Meaning right);
  Result divide(llvm::SMLoc loc, Meaning left, Meaning right);
  Result power(llvm::SMLoc loc, Meaning base, Meaning exponent);
  Result select(const Expression &expression, const Scope &scope);
  Result callMap(const Expression &call, const Scope &scope);
  Result callFunction(const Expression &call, const Scope &scope);
  Result squareRoot(const Expression &call, const Scope &scope);
  Result keep(const Expression &call, const Scope &scope);

  llvm::FailureOr<mlir::Value> operand(const Expression &call, size_t index, const Scope &scope);
  llvm::FailureOr<mlir::Attribute> attributeOf(const struct Parameter &parameter,
                                               const Expression *value, const Scope &scope);
  llvm::LogicalResult indices(const std::vector<IndexRange> &ranges, llvm::SMLoc loc,
                              std::optional<int64_t> width, const Scope &scope,
                              llvm::SmallVectorImpl<int64_t> &result);
  /// The values of both sides of an operator, where they are no numbers.
  llvm::LogicalResult readBoth(llvm::SMLoc loc, Meaning &left, Meaning &right);
  /// The values of both sides of an operator, a vector on the left; sides change where only the
  /// right one is a vector.
  llvm::LogicalResult sides(llvm::SMLoc loc, Meaning &left, Meaning &right);

  template <typename Op>
  Result make(llvm::SMLoc loc, llvm::ArrayRef<mlir::Value> operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    llvm::FailureOr<mlir::Operation *> op = maker.make<Op>(loc, operands, attributes);
    return succeeded(op) ? Result(Meaning{(*op)->getResult(0)}) : Result(mlir::failure());
  }
  mlir::NamedAttribute f64(llvm::StringRef name, double value) {
    return maker.attribute(name, maker.getBuilder().getF64FloatAttr(value));
  }

  OpMaker &maker;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_EVALUATOR_H

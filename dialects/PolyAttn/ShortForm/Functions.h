//===- Functions.h - the functions of the short form ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is called as its op is, and the dialect's own list of ops is that of functions. `sym`
// is the one more: a symmetric power.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_FUNCTIONS_H
#define POLYATTN_DIALECTS_SHORTFORM_FUNCTIONS_H

#include "dialects/PolyAttn/AttributeSyntax.h"
#include "dialects/PolyAttn/ShortForm/OpMaker.h"

namespace polyattn::shortform {

/// An attribute of the op.
struct Parameter {
  enum class Kind { Number, Whole, Flag, Word, Indices };
  llvm::StringLiteral name;
  Kind kind;
  /// Whether a value without a name, behind the operands, is for it.
  bool isPositional = false;
  /// Whether a call may leave it out: then the op has the standard number or word, or none.
  bool isOptional = false;
  std::optional<double> standard = std::nullopt;
  llvm::StringLiteral standardWord = "";
  /// The standard is the width of the first operand.
  bool isWidth = false;
  const EnumWords *words = nullptr;
};

struct Function {
  llvm::StringRef name, op;
  OperandKinds kinds;
  llvm::FailureOr<mlir::Operation *> (*make)(OpMaker &maker, llvm::SMLoc loc,
                                             llvm::ArrayRef<mlir::Value> operands,
                                             llvm::ArrayRef<mlir::NamedAttribute> attributes);
  llvm::SmallVector<const Parameter *> parameters = {};
  /// A flag that the function has without being told.
  llvm::StringRef preset = {};
  /// Whether a number is taken for a vector of one element.
  bool takesNumbers = false;

  const Parameter *find(llvm::StringRef parameter) const;
  /// The most operands, and values without a name behind them; none where there is no most.
  std::optional<size_t> mostOperands() const;
  size_t leastOperands() const;
  size_t positionalParameters() const;
};

llvm::ArrayRef<Function> allFunctions();
/// Null where there is none.
const Function *findFunction(llvm::StringRef name);
/// The function that gives an op; null where none does.
const Function *functionOf(mlir::Operation *op);

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_FUNCTIONS_H

//===- NormalizerSyntax.h - normalizers as text has them --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The long form says `<sum, eps = 1.0e-6, min_denom = 1.0e-4>`, the short one
// `sum(1e-6, min_denom = 1e-4)`: the same fields, with the same rules.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_NORMALIZERSYNTAX_H
#define POLYATTN_DIALECTS_NORMALIZERSYNTAX_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "llvm/ADT/StringSet.h"

namespace polyattn {

/// Reads a normalizer, field by field. Fields are read by the parser of a form, numbers as that
/// form has them.
class NormalizerReader {
public:
  using EmitError = std::function<mlir::InFlightDiagnostic(llvm::SMLoc)>;
  using ParseNumber = llvm::function_ref<mlir::ParseResult(double &)>;

  NormalizerReader(mlir::AsmParser &parser, EmitError emitError)
      : parser(parser), emitError(std::move(emitError)), start(parser.getCurrentLocation()) {}

  mlir::ParseResult readKind();
  NormalizerKind getKind() const { return kind; }
  /// name `=` value
  mlir::ParseResult readField(ParseNumber parseNumber);
  /// The value of the field without which the kind means nothing: the eps of `sum`, the bias of
  /// `bias`. Others have no such field.
  mlir::ParseResult readMainField(ParseNumber parseNumber);
  bool hasMainField() const;

  /// The attribute; null where a rule is broken. The messages quote the form's own way to say an
  /// eps of zero, and a bias of 1.
  NormalizerAttr finish(llvm::StringRef zeroEps, llvm::StringRef someBias);

private:
  double *findNumber(llvm::StringRef field);
  mlir::LogicalResult checkGiven(llvm::StringRef zeroEps, llvm::StringRef someBias);

  mlir::AsmParser &parser;
  EmitError emitError;
  llvm::SMLoc start;
  NormalizerKind kind{};
  EpsMode epsMode{};
  Reduce reduce{};
  double eps = 0, bias = 0, guardBelow = 0, guardAdd = 0, minDenom = 0;
  llvm::StringSet<> given;
};

/// One field of a normalizer, a number or a word.
struct NormalizerField {
  llvm::StringRef name;
  std::optional<double> number;
  llvm::StringRef word = {};
  /// The field that readMainField reads.
  bool isMain = false;
};

/// The fields that are written, in their order.
llvm::SmallVector<NormalizerField> fieldsOf(NormalizerAttr normalizer);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_NORMALIZERSYNTAX_H

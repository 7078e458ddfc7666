//===- HeaderReader.h - reads sizes, arguments and results of the short form -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_HEADERREADER_H
#define POLYATTN_DIALECTS_SHORTFORM_HEADERREADER_H

#include "dialects/PolyAttn/ShortForm/ExpressionReader.h"

namespace polyattn::shortform {

struct ArgumentKind;

/// A result as the text says it: its type may be left out, and the argument in which it lives.
struct ResultText {
  llvm::StringRef name;
  mlir::RankedTensorType type = {};
  int64_t place = -1;
};

/// What stands between the name of an attention and its body: `<d = 64>(q, k: seq[d]) -> (o)`.
class HeaderReader {
public:
  HeaderReader(mlir::OpAsmParser &parser, mlir::OperationState &result, mlir::Block &body,
               ReadingSession &session, ExpressionParser &expressions, ExpressionReader &values,
               Scope &scope)
      : parser(parser), result(result), body(body), session(session), expressions(expressions),
        values(values), scope(scope) {}

  /// Defines sizes and arguments in the scope.
  mlir::ParseResult read(llvm::StringRef entry);

  /// The results where the text says them.
  const std::optional<std::vector<ResultText>> &getResults() const { return results; }

private:
  mlir::ParseResult readSize(llvm::StringRef entry);
  mlir::ParseResult readArguments();
  mlir::ParseResult readType(const ArgumentKind *&kind, mlir::RankedTensorType &type);
  mlir::ParseResult readTypeSize(llvm::SmallVectorImpl<int64_t> &shape);
  mlir::ParseResult readElements(const ArgumentKind &kind, mlir::Type &elements);
  mlir::ParseResult addArgument(llvm::StringRef name, llvm::SMLoc loc, const ArgumentKind &kind,
                                mlir::RankedTensorType type);
  mlir::ParseResult readResult();
  mlir::ParseResult readPlace(int64_t &place);

  mlir::OpAsmParser &parser;
  mlir::OperationState &result;
  mlir::Block &body;
  ReadingSession &session;
  ExpressionParser &expressions;
  ExpressionReader &values;
  Scope &scope;
  llvm::SmallVector<mlir::Attribute> argumentNames;
  std::optional<std::vector<ResultText>> results;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_HEADERREADER_H

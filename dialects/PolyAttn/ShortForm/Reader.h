//===- Reader.h - reads an attention in the short form ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_READER_H
#define POLYATTN_DIALECTS_SHORTFORM_READER_H

#include "dialects/PolyAttn/ShortForm/HeaderReader.h"

namespace polyattn::shortform {

/// From the text of an attention to the op that the long form would have given: docs/Language.md
/// has the grammar.
class Reader {
public:
  Reader(mlir::OpAsmParser &parser, mlir::OperationState &result, ReadingSession &session);

  /// Reads all behind the name of the attention.
  mlir::ParseResult read(llvm::StringRef entry);

private:
  mlir::ParseResult readStatement(bool &isReturn);
  mlir::ParseResult readReads();
  mlir::ParseResult readMap();
  mlir::ParseResult readMapBody(Map &map, Scope &names);
  mlir::ParseResult readAssignment();
  mlir::ParseResult readReturn();
  mlir::ParseResult addResults(llvm::SMLoc loc, mlir::ValueRange values);
  void tell(llvm::StringRef name, const llvm::Twine &about);

  mlir::OpAsmParser &parser;
  mlir::OperationState &result;
  ReadingSession &session;
  mlir::Region *region;
  OpMaker maker;
  Evaluator evaluator;
  Maps maps;
  Scope scope;
  ExpressionParser expressions;
  ExpressionReader values;
  HeaderReader header;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_READER_H

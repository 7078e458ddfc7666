//===- AttendReader.h - reads an attend of the short form -------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_ATTENDREADER_H
#define POLYATTN_DIALECTS_SHORTFORM_ATTENDREADER_H

#include "dialects/PolyAttn/ShortForm/ExpressionReader.h"

namespace polyattn::shortform {

/// `attend(query, key, value)`, the mask, `normalize` and what else there is, clause by clause.
class AttendReader {
public:
  AttendReader(mlir::OpAsmParser &parser, ExpressionParser &expressions, ExpressionReader &values,
               OpMaker &maker)
      : parser(parser), expressions(expressions), values(values), maker(maker) {}

  /// Whether an attend comes next.
  static bool isNext(mlir::OpAsmParser &parser);
  llvm::FailureOr<mlir::Operation *> read();

private:
  mlir::ParseResult readVectors();
  mlir::ParseResult readVector(size_t segment);
  mlir::ParseResult readMask();
  mlir::ParseResult readNormalizer();
  mlir::ParseResult readClause(llvm::StringRef clause, llvm::SMLoc loc);
  mlir::ParseResult readLocal();
  mlir::ParseResult readTensor(size_t segment);
  mlir::ParseResult readWord(llvm::StringRef clause);
  mlir::ParseResult readDecayFactors();
  mlir::ParseResult readNumber(double &number);

  void add(llvm::StringRef name, mlir::Attribute value) {
    attributes.push_back(maker.attribute(name, value));
  }

  mlir::OpAsmParser &parser;
  ExpressionParser &expressions;
  ExpressionReader &values;
  OpMaker &maker;
  /// The operands of AttendOp's segments.
  std::array<mlir::Value, std::tuple_size_v<AttendOp::Properties::operandSegmentSizesTy>> operands =
      {};
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  bool hasGrouping = false;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_ATTENDREADER_H

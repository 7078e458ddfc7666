//===- Writer.h - writes an attention in the short form ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_WRITER_H
#define POLYATTN_DIALECTS_SHORTFORM_WRITER_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "llvm/ADT/StringSet.h"

namespace polyattn::shortform {

/// From a verified attention to text that the Reader reads as the same op: a statement for each op,
/// in their order.
class Writer {
public:
  Writer(mlir::OpAsmPrinter &printer, AttentionOp attention)
      : printer(printer), attention(attention), body(attention.getBody().front()) {}

  /// Whether everything in an attention has a short form.
  static bool canWrite(AttentionOp attention);

  void write();

private:
  void writeArguments();
  void writeResults();
  void writeStatements();
  /// Reads that do not stand where their arguments are used first.
  void writeReads(llvm::ArrayRef<ReadOp> reads);
  void writeOp(mlir::Operation *op);
  void writeExpression(mlir::Operation *op);
  bool writeOperator(mlir::Operation *op);
  void writeSelection(SelectOp op);
  void writeIndices(llvm::ArrayRef<int64_t> indices);
  void writeCall(mlir::Operation *op);
  void writeAttend(AttendOp op);
  void writeNormalizer(NormalizerAttr normalizer);
  void writeClause(AttendOp op, const struct AttendClause &clause);
  void writeReturn(ReturnOp op);
  void writeNumber(double number);
  void newLine();

  llvm::StringRef nameOf(mlir::Value value) { return names.find(value)->second; }
  std::string newName();
  llvm::StringRef argumentName(unsigned number);
  /// Whether `return` says an attend, and no names of its results.
  bool returnsAttend(AttendOp op);

  mlir::OpAsmPrinter &printer;
  AttentionOp attention;
  mlir::Block &body;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringSet<> taken;
  unsigned counter = 0;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_WRITER_H

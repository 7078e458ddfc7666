//===- OpMaker.h - builds the ops that expressions stand for ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_OPMAKER_H
#define POLYATTN_DIALECTS_SHORTFORM_OPMAKER_H

#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "dialects/PolyAttn/ShortForm/Scope.h"
#include "dialects/PolyAttn/TypeSyntax.h"
#include "mlir/IR/Builders.h"

namespace polyattn::shortform {

/// Builds ops at the end of an attention's body, with inferred types, and locates what is wrong.
class OpMaker {
public:
  OpMaker(mlir::OpAsmParser &parser, ReadingSession &session, mlir::Block &body)
      : parser(parser), session(session), builder(parser.getContext()) {
    builder.setInsertionPointToEnd(&body);
  }

  mlir::MLIRContext *getContext() { return builder.getContext(); }
  mlir::OpBuilder &getBuilder() { return builder; }

  /// The location of a place in the text, with the calls of maps that lead there.
  mlir::Location at(llvm::SMLoc loc);
  mlir::InFlightDiagnostic error(llvm::SMLoc loc);
  /// Counts the evaluation of an expression.
  mlir::LogicalResult addStep(llvm::SMLoc loc);
  /// Counts the elements that a selection lists.
  mlir::LogicalResult addIndices(llvm::SMLoc loc, int64_t count);

  /// A call of a map begins and ends.
  void enter(llvm::SMLoc call) { callers.push_back(at(call)); }
  void leave() { callers.pop_back(); }

  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return {builder.getStringAttr(name), value};
  }

  template <typename Op>
  llvm::FailureOr<mlir::Operation *> make(llvm::SMLoc loc, llvm::ArrayRef<mlir::Value> operands,
                                          llvm::ArrayRef<mlir::NamedAttribute> attributes) {
    mlir::OperationState state(at(loc), Op::getOperationName());
    state.addOperands(operands);
    state.addAttributes(attributes);
    if (failed(inferParsedTypes<Op>(parser, state)))
      return mlir::failure();
    // The op's properties have them.
    state.attributes = {};
    return insert(loc, state);
  }

  /// Inserts an op whose types are known.
  llvm::FailureOr<mlir::Operation *> insert(llvm::SMLoc loc, const mlir::OperationState &state);

  /// The vector of this token and head, or the weight of this head: an argument is read once, where
  /// it is used first. What is no vector and no weight is an error.
  llvm::FailureOr<mlir::Value> read(llvm::SMLoc loc, Meaning meaning);
  /// Likewise, and only a vector will do.
  llvm::FailureOr<mlir::Value> readVector(llvm::SMLoc loc, Meaning meaning);

private:
  mlir::OpAsmParser &parser;
  ReadingSession &session;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> reads;
  llvm::SmallVector<mlir::Location> callers;
};

bool isWeight(mlir::Value value);
bool isVector(mlir::Value value);
/// What a value is called in messages.
llvm::StringRef kindOf(Meaning meaning);

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_OPMAKER_H

//===- ExpressionParser.h - reads expressions of the short form -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_EXPRESSIONPARSER_H
#define POLYATTN_DIALECTS_SHORTFORM_EXPRESSIONPARSER_H

#include "dialects/PolyAttn/ShortForm/Expression.h"
#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "dialects/PolyAttn/ShortForm/Scope.h"
#include "mlir/IR/OpImplementation.h"

namespace polyattn::shortform {

/// From text to expressions. Names, functions and what they take are checked here; what an
/// expression is worth is the Evaluator's.
class ExpressionParser {
public:
  ExpressionParser(mlir::OpAsmParser &parser, ReadingSession &session, const Maps &maps)
      : parser(parser), session(session), maps(maps) {}

  /// An expression whose names are in `scope`.
  mlir::ParseResult parse(const Scope &scope, ExpressionPtr &result);

  /// One of `words`; says which was meant where it is none. `what` names it in messages.
  mlir::ParseResult parseWord(llvm::ArrayRef<llvm::StringRef> words, llvm::StringRef what,
                              llvm::StringRef &word);

  /// Tells the session's observer of a word of the language at `loc`; `name` is that of its text in
  /// allWords.
  void tellOfWord(llvm::SMLoc loc, llvm::StringRef word, llvm::StringRef name);

  /// A name that has no meaning in `names` yet.
  mlir::ParseResult parseNewName(const Scope &names, llvm::StringRef &name);

  /// Adds the name that was meant, or all names, to an error.
  static mlir::ParseResult suggest(mlir::InFlightDiagnostic error, llvm::StringRef name,
                                   llvm::ArrayRef<llvm::StringRef> names);

private:
  mlir::ParseResult parseSum(ExpressionPtr &result);
  mlir::ParseResult parseProduct(ExpressionPtr &result);
  mlir::ParseResult parseFactor(ExpressionPtr &result);
  mlir::ParseResult parsePower(ExpressionPtr &result);
  mlir::ParseResult parseSelection(ExpressionPtr &result);
  mlir::ParseResult parseAtom(ExpressionPtr &result);
  mlir::ParseResult parseNamed(llvm::SMLoc loc, llvm::StringRef name, ExpressionPtr &result);
  mlir::ParseResult parseCall(llvm::SMLoc loc, llvm::StringRef name, ExpressionPtr &result);
  mlir::ParseResult parseOperands(Expression &call);
  mlir::ParseResult parseParameter(Expression &call);
  mlir::ParseResult parseRanges(std::vector<IndexRange> &ranges);
  mlir::ParseResult checkCount(const Expression &call);
  mlir::ParseResult checkGiven(const Expression &call);

  /// The new expression, whose operands are there.
  mlir::ParseResult finish(ExpressionPtr expression, ExpressionPtr &result);
  mlir::ParseResult combine(Expression::Kind kind, llvm::SMLoc loc, ExpressionPtr left,
                            ExpressionPtr right, ExpressionPtr &result);
  /// Parses what stands inside something else.
  mlir::ParseResult nested(llvm::function_ref<mlir::ParseResult()> parse);

  mlir::OpAsmParser &parser;
  ReadingSession &session;
  const Maps &maps;
  const Scope *scope = nullptr;
  int nesting = 0;
};

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_EXPRESSIONPARSER_H

//===- ShortForm.h - the short form of attentions ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// polyattn.attention @llops<d = 128, m = 256>(q, k, v: seq[d], a, b: weight[d, m]) {
//   map phi(x) = project(x, a) * project(x, b)
//   return attend(phi(q), phi(k), v) causal normalize none
// }
//
// is read as the op that the long form says, type by type. docs/Language.md has the grammar.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_SHORTFORM_H
#define POLYATTN_DIALECTS_SHORTFORM_SHORTFORM_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn::shortform {

/// What statements begin with that give nothing a name.
inline constexpr llvm::StringLiteral kMap = "map", kRead = "read", kReturn = "return";
inline constexpr llvm::StringLiteral kStatements[] = {kMap, kRead, kReturn};
/// Words with operands that are no functions of feature ops.
inline constexpr llvm::StringLiteral kAttend = "attend", kSquareRoot = "sqrt", kKeep = "keep";

/// Names of results that a text does not name.
inline constexpr llvm::StringLiteral kResultNames[] = {"o", "final", "final_normalizer"};

/// The type of a result where the text says none: a vector is stored as the sequences are.
mlir::Type standardResultType(mlir::Value value, mlir::Block &body);

/// Reads an attention from its name on.
mlir::ParseResult parseAttention(mlir::OpAsmParser &parser, mlir::OperationState &result);

/// Whoever gives this to the dialect of a context has attentions printed in the short form.
class ShortPrinting : public mlir::DialectInterface::Base<ShortPrinting> {
public:
  explicit ShortPrinting(mlir::Dialect *dialect) : Base(dialect) {}
};

/// Whether an attention is to be printed in the short form, and has one.
bool canPrint(AttentionOp attention);
/// Prints it from its name on.
void printAttention(mlir::OpAsmPrinter &printer, AttentionOp attention);

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_SHORTFORM_H

//===- AttributeSyntax.h - attributes of ops as text has them ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `{factor = 0.5, degree = 2, form = tanh, symmetric}`: f64 numbers are the shortest decimals that
// read back, whole numbers are i64, and the cases of enums are words. Other types and MLIR's own
// spelling, such as `5.000000e-01 : f64` or `#polyattn.gelu_form<tanh>`, are read, too.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_ATTRIBUTESYNTAX_H
#define POLYATTN_DIALECTS_ATTRIBUTESYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace polyattn {

/// The cases of an enum, by their words.
struct EnumWords {
  llvm::SmallVector<llvm::StringRef> (*list)();
  /// The attribute of a word of the list.
  mlir::Attribute (*get)(mlir::MLIRContext *context, llvm::StringRef word);
  /// Empty for an attribute of another kind.
  llvm::StringRef (*spell)(mlir::Attribute attribute);
};
extern const EnumWords kBeyonds, kEpsPlaces, kGateHeads, kGeluForms, kGroupings, kMasks,
    kProductPrecisions, kRopeLayouts, kTriuWeights;

/// The cases of the attribute of that name, which means the same in all ops; null if it is no enum.
const EnumWords *findEnumWords(llvm::StringRef attribute);

/// The shortest decimal that reads back, with the dot that MLIR's numbers have. It is finite.
std::string spellNumber(double number);

/// Refuses names that the op does not have.
mlir::ParseResult parseOptionalAttributes(mlir::OpAsmParser &parser, mlir::OperationState &result);
void printOptionalAttributes(mlir::OpAsmPrinter &printer,
                             llvm::ArrayRef<mlir::NamedAttribute> attributes,
                             llvm::ArrayRef<llvm::StringRef> elided = {});

} // namespace polyattn

#endif // POLYATTN_DIALECTS_ATTRIBUTESYNTAX_H

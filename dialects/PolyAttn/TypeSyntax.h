//===- TypeSyntax.h - the short form of feature and weight types -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the dialect's ops a feature type is written as its structure (`[64]`,
// `sym 2 [16]`) and a weight as its sizes (`64x256`); any other type as usual.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_TYPESYNTAX_H
#define POLYATTN_DIALECTS_TYPESYNTAX_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

mlir::FailureOr<Structure> parseStructure(mlir::AsmParser &parser);
mlir::ParseResult parseFeatureType(mlir::AsmParser &parser, mlir::Type &type);
void printFeatureType(mlir::AsmPrinter &printer, mlir::Type type);

// The hooks that the ops' assembly formats call.
inline void printFeatureType(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type type) {
  printFeatureType(printer, type);
}
mlir::ParseResult parseFeatureTypes(mlir::AsmParser &parser,
                                    llvm::SmallVectorImpl<mlir::Type> &types);
template <typename Types>
void printFeatureTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, Types types) {
  llvm::interleaveComma(types, printer, [&](mlir::Type type) { printFeatureType(printer, type); });
}

/// The syntax of every feature op: `operands attr-dict (`:` operand types)?`; results are inferred.
mlir::ParseResult parseFeatureOperands(mlir::OpAsmParser &parser, mlir::OperationState &result,
                                       OperandKinds kinds);
void printFeatureOp(mlir::OpAsmPrinter &printer, mlir::Operation *op);

/// The syntax of every view of states: `operands attr-dict : operand types`; results are inferred.
mlir::ParseResult parseStateOperands(mlir::OpAsmParser &parser, mlir::OperationState &result);
void printStateView(mlir::OpAsmPrinter &printer, mlir::Operation *op);

/// The syntax of every op that gives a state, and its result's type. `sizesName` names the sizes of
/// the operands' segments.
mlir::ParseResult parseStateUpdate(mlir::OpAsmParser &parser, mlir::OperationState &result,
                                   mlir::StringAttr sizesName);
void printStateUpdate(mlir::OpAsmPrinter &printer, StateUpdateInterface op,
                      mlir::StringAttr sizesName);
mlir::LogicalResult inferState(mlir::MLIRContext *context, std::optional<mlir::Location> loc,
                               llvm::ArrayRef<int32_t> sizes, mlir::ValueRange operands,
                               bool normalizer, bool needsDecay,
                               llvm::SmallVectorImpl<mlir::Type> &results);

/// Operands of an op that has several segments of them, in the segments' order.
struct OperandSegments {
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  llvm::SmallVector<int32_t> sizes;
  llvm::SMLoc loc; // where the first one stands

  /// `(keyword operand)?`, as the segment of that number.
  mlir::ParseResult parseOptional(mlir::OpAsmParser &parser, llvm::StringRef keyword,
                                  size_t segment);
};
/// Prints ` keyword operand`; nothing where there is no operand.
void printOptionalOperand(mlir::OpAsmPrinter &printer, llvm::StringRef keyword,
                          mlir::Value operand);

/// What an operand is: a vector of features, a tensor, or the sums that a `state` op stands for.
enum class OperandKind { Feature, Tensor, State };

/// The end of such an op, `attr-dict : operand types`: operands are of the kind that `kindOf` says
/// of their number.
mlir::ParseResult parseEndOfSegments(mlir::OpAsmParser &parser, mlir::OperationState &result,
                                     const OperandSegments &segments, mlir::StringAttr sizesName,
                                     llvm::function_ref<OperandKind(int64_t)> kindOf);

/// Infers the result types of a parsed op from its operands and attributes.
template <typename Op>
mlir::ParseResult inferParsedTypes(mlir::OpAsmParser &parser, mlir::OperationState &result) {
  mlir::MLIRContext *context = parser.getContext();
  auto emitError = [&] {
    return parser.emitError(parser.getNameLoc()) << "'" << result.name << "' op ";
  };
  mlir::DictionaryAttr attributes = result.attributes.getDictionary(context);
  if (failed(Op::verifyInherentAttrs(result.name, result.attributes, emitError)))
    return mlir::failure();
  if constexpr (!std::is_same_v<typename Op::Properties, mlir::EmptyProperties>) {
    auto &properties = result.getOrAddProperties<typename Op::Properties>();
    if (failed(Op::setPropertiesFromAttr(properties, attributes, emitError)))
      return mlir::failure();
  }
  // Inference reads attributes as if they were there; the adaptor says which are missing.
  typename Op::Adaptor adaptor(mlir::ValueRange(result.operands), attributes,
                               result.getRawProperties());
  if (failed(adaptor.verify(result.location)))
    return mlir::failure();
  llvm::SmallVector<mlir::Type> types;
  if (failed(Op::inferReturnTypes(context, result.location, result.operands, attributes,
                                  result.getRawProperties(), {}, types)))
    return mlir::failure();
  result.addTypes(types);
  return mlir::success();
}

template <typename Op>
mlir::ParseResult parseFeatureOp(mlir::OpAsmParser &parser, mlir::OperationState &result) {
  if (parseFeatureOperands(parser, result, Op::kOperandKinds))
    return mlir::failure();
  return inferParsedTypes<Op>(parser, result);
}

} // namespace polyattn

#endif // POLYATTN_DIALECTS_TYPESYNTAX_H

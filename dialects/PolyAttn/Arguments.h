//===- Arguments.h - arguments of maps and attentions -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_DIALECTS_ARGUMENTS_H
#define POLYATTN_DIALECTS_ARGUMENTS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// Parses `@name(%x: type, ...)`: the symbol, and the arguments with their names. The body is left
/// to the caller.
mlir::ParseResult parseHeader(mlir::OpAsmParser &parser, mlir::OperationState &result,
                              llvm::SmallVectorImpl<mlir::OpAsmParser::Argument> &arguments);
void printHeader(mlir::OpAsmPrinter &printer, llvm::StringRef name, mlir::Region &body);

void nameArguments(mlir::ArrayAttr names, mlir::Region &region, mlir::OpAsmSetValueNameFn setName);
mlir::LogicalResult verifyNames(mlir::Operation *op, mlir::ArrayAttr names, mlir::Region &body);

/// Whether a sequence has heads that several heads of the attention share (`shared_heads`).
bool hasSharedHeads(mlir::Type tensor);
/// Whether an attention has an argument or a result with shared heads. Attends then have H heads of
/// queries and of keys, and Hkv is the number of the shared heads.
bool sharesHeads(AttentionOp attention);

/// The feature or weight type that reading a tensor gives; null where the tensor has another use.
mlir::Type readTypeOf(mlir::RankedTensorType tensor);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_ARGUMENTS_H

//===- GradientPairs.h - syntax of sums over pairs of vectors ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_GRADIENTPAIRS_H
#define POLYATTN_DIALECTS_GRADIENTPAIRS_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/OpImplementation.h"

namespace polyattn {

/// The operands of the gradient of a weight: `(%x, %dy), (%x2, %dy2)` or `%dy, %dy2`, then `plus
/// %sum` where there is a running sum, attributes and types. In the op, inputs come first.
/// `sizesName` is the op's name for the sizes of its groups of operands.
mlir::ParseResult parseGradientPairs(mlir::OpAsmParser &parser, mlir::OperationState &result,
                                     mlir::StringAttr sizesName);
void printGradientPairs(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange inputs,
                        mlir::OperandRange gradients, mlir::Value plus, llvm::StringRef sizesName);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_GRADIENTPAIRS_H

//===- ConvertToLLVM.h - the last conversion of a module --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TOLLVM_CONVERTTOLLVM_H
#define POLYATTN_LIB_CONVERSION_TOLLVM_CONVERTTOLLVM_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
class ConversionTarget;
class LLVMTypeConverter;
} // namespace mlir

namespace polyattn {

/// Makes all that is in `root` legal for `target`: by `patterns`, and those of arith, cf, scf and
/// vector, which every target has. An op that no pattern takes is an error at its location.
mlir::LogicalResult convertToLLVM(mlir::Operation *root, const mlir::ConversionTarget &target,
                                  const mlir::LLVMTypeConverter &converter,
                                  mlir::RewritePatternSet patterns);

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_TOLLVM_CONVERTTOLLVM_H

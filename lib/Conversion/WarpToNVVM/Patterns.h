//===- Patterns.h - ops of a GPU's thread to NVVM ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_WARPTONVVM_PATTERNS_H
#define POLYATTN_LIB_CONVERSION_WARPTONVVM_PATTERNS_H

#include "dialects/Warp/Warp.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace polyattn {

/// The symbol of the shared memory's array, which the pass has put into the module.
constexpr llvm::StringLiteral kSharedMemory = "dynamic_shared_memory";

/// All threads of a warp.
constexpr int32_t kWholeWarp = -1;

inline mlir::Value createI32(mlir::OpBuilder &builder, mlir::Location location, int32_t value) {
  return mlir::LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(value));
}

/// The pointer to a byte offset into shared memory.
mlir::Value createSharedPointer(mlir::OpBuilder &builder, mlir::Location location,
                                mlir::Value address);

/// Ids, barriers.
void populatePlacePatterns(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);
/// Loads, stores, copies.
void populateMemoryPatterns(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);
/// Collectives of a warp, and the numbers that go into them.
void populateFragmentPatterns(mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
/// The math dialect's ops that are instructions.
void populateFunctionPatterns(mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
/// Whether populateFunctionPatterns has a pattern for an op of the math dialect.
bool hasInstruction(mlir::Operation *op);

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_WARPTONVVM_PATTERNS_H

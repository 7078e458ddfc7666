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
#include "llvm/ADT/MapVector.h"

namespace polyattn {

constexpr unsigned kGlobalSpace = unsigned(mlir::NVVM::NVVMMemorySpace::Global);
constexpr unsigned kSharedSpace = unsigned(mlir::NVVM::NVVMMemorySpace::Shared);

/// All threads of a warp.
constexpr int32_t kWholeWarp = -1;

inline mlir::Value createI32(mlir::OpBuilder &builder, mlir::Location location, int32_t value) {
  return mlir::LLVM::ConstantOp::create(builder, location, builder.getI32IntegerAttr(value));
}

/// The pointer to a byte offset into shared memory.
mlir::Value createSharedPointer(mlir::OpBuilder &builder, mlir::Location location,
                                mlir::Value address);

/// An access of n bytes is aligned to n bytes.
unsigned alignmentOf(mlir::Type type);

/// The CTAs of a cluster of the kernel that an op is in: 1 where it has no clusters.
int64_t clusterSizeOf(mlir::Operation *op);

/// The symbols of the tables in a module.
using Tables = llvm::MapVector<mlir::Attribute, std::string>;

/// Ids, barriers.
void populateThreadIdPatterns(mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
/// What the CTAs of a cluster do together.
void populateClusterPatterns(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);
/// Loads, stores, copies; `tables` must live as long as the patterns.
void populateMemoryPatterns(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns,
                            const Tables &tables);
/// Collectives of a warp, and the values that go into them.
void populateFragmentPatterns(mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
/// The math dialect's ops that are instructions.
void populateFunctionPatterns(mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);
/// Whether populateFunctionPatterns has a pattern for an op of the math dialect.
bool hasInstruction(mlir::Operation *op);

/// Unrolls the loops that say so (`warp.unroll`).
mlir::LogicalResult unrollLoops(mlir::Operation *kernels);

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_WARPTONVVM_PATTERNS_H

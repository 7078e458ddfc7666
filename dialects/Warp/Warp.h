//===- Warp.h - the warp dialect --------------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_WARP_H
#define POLYATTN_DIALECTS_WARP_H

#include "dialects/Attributes/KnownAttributes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Warp/WarpDialect.h.inc"
#include "dialects/Warp/WarpEnums.h.inc"

namespace polyattn::warp {

/// Says how many CTAs the clusters of a kernel have.
constexpr llvm::StringLiteral kClusterAttrName = "warp.cluster";
/// Says how many iterations of a loop are computed at once.
constexpr llvm::StringLiteral kUnrollAttrName = "warp.unroll";

/// The CTAs of a kernel's clusters: 1 where it has none.
int64_t getClusterSize(mlir::gpu::GPUFuncOp kernel);

} // namespace polyattn::warp

#define GET_ATTRDEF_CLASSES
#include "dialects/Warp/WarpAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Warp/WarpOps.h.inc"

#endif // POLYATTN_DIALECTS_WARP_H

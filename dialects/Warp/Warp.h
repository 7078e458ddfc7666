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

/// Attributes of kernels and of their parameters; the dialect's description says what they mean.
constexpr llvm::StringLiteral kClusterAttrName = "warp.cluster";
constexpr llvm::StringLiteral kThreadsAttrName = "warp.threads";
constexpr llvm::StringLiteral kSharedBytesAttrName = "warp.shared_bytes";
constexpr llvm::StringLiteral kWorkspaceBytesAttrName = "warp.workspace_bytes";
constexpr llvm::StringLiteral kRegistersAttrName = "warp.registers";
constexpr llvm::StringLiteral kProgramsAttrName = "warp.programs";
constexpr llvm::StringLiteral kMemoryAttrName = "warp.memory";
constexpr llvm::StringLiteral kPointerAttrName = "warp.pointer";
constexpr llvm::StringLiteral kSizeAttrName = "warp.size";
constexpr llvm::StringLiteral kStrideAttrName = "warp.stride";
constexpr llvm::StringLiteral kWorkspaceAttrName = "warp.workspace";
constexpr llvm::StringLiteral kProfileAttrName = "warp.profile";
/// Says how many iterations of a loop are computed at once.
constexpr llvm::StringLiteral kUnrollAttrName = "warp.unroll";
/// On the function that an emulator runs: where each of its ops is in the kernel.
constexpr llvm::StringLiteral kSitesAttrName = "warp.sites";

/// Whether a kernel may have this attribute of the dialect, and with this value.
mlir::LogicalResult verifyKernelAttribute(mlir::Operation *op, mlir::NamedAttribute attribute);

/// The CTAs of a kernel's clusters: 1 where it has none.
int64_t getClusterSize(mlir::gpu::GPUFuncOp kernel);

} // namespace polyattn::warp

#define GET_ATTRDEF_CLASSES
#include "dialects/Warp/WarpAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Warp/WarpOps.h.inc"

#endif // POLYATTN_DIALECTS_WARP_H

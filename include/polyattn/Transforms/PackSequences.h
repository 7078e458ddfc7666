//===- PackSequences.h - kernels for packed sequences -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_PACKSEQUENCES_H
#define POLYATTN_TRANSFORMS_PACKSEQUENCES_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// What a spec's offsets are called where it does not say so itself.
inline constexpr llvm::StringLiteral kOffsetsName = "cu_seqlens";

/// Gives every attention that has no packed sequences (`packed`) an argument more, their offsets
/// `cu_seqlens`, i32 [N + 1]. Fails, with a diagnostic, where the name is taken.
llvm::LogicalResult packSequences(mlir::ModuleOp module);

} // namespace polyattn

#endif // POLYATTN_TRANSFORMS_PACKSEQUENCES_H

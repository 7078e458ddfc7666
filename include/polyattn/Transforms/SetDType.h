//===- SetDType.h - the element type of tensors -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TRANSFORMS_SETDTYPE_H
#define POLYATTN_TRANSFORMS_SETDTYPE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace polyattn {

/// Lets the queries, keys, values, weights and outputs of all attentions hold `type`, which is f32,
/// bf16 or f16. Decays, states and rotary frequencies are f32 whatever the type: angles grow with
/// the position, and so does the error of a rounded frequency. Fails with one line for other types.
llvm::Error setDType(mlir::ModuleOp module, llvm::StringRef type);

} // namespace polyattn

#endif // POLYATTN_TRANSFORMS_SETDTYPE_H

//===- ChosenEntry.h - one of a module's entries ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_COMPILER_CHOSENENTRY_H
#define POLYATTN_COMPILER_CHOSENENTRY_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace polyattn {

/// A copy of the attention's module without the other attentions.
mlir::OwningOpRef<mlir::ModuleOp> cloneAlone(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_COMPILER_CHOSENENTRY_H

//===- ChosenEntry.h - the entries of a direction, described ----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_COMPILER_CHOSENENTRY_H
#define POLYATTN_COMPILER_CHOSENENTRY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "polyattn/Entry/Signature.h"
#include "polyattn/Pipelines/Direction.h"

namespace polyattn {

/// A copy of the attention's module without the other attentions.
mlir::OwningOpRef<mlir::ModuleOp> cloneAlone(AttentionOp attention);

/// What kernels are made of, in a direction.
struct Entry {
  AttentionOp attention;
  Signature signature;
  CallDirection direction;
};

/// Makes of a module's attentions the entries of the direction. An error carries the located
/// diagnostics.
llvm::Expected<std::vector<Entry>> makeEntries(mlir::ModuleOp module,
                                               const DirectionOptions &options);

} // namespace polyattn

#endif // POLYATTN_COMPILER_CHOSENENTRY_H

//===- Dependencies.h - what a vector is computed from ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_DEPENDENCIES_H
#define POLYATTN_DIALECTS_DEPENDENCIES_H

#include "dialects/PolyAttn/Kernels.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Visitors.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace polyattn {

/// Visits a value and what it is computed from, first operands first and each value once: a program
/// is a graph, and as a tree it may be exponentially large and too deep for recursion. In place of
/// a kernel's result it visits what the kernel yields. The visitor says whether the operands of the
/// value's op are visited, too. Returns true where it interrupted.
inline bool walkDependencies(mlir::Value root,
                             llvm::function_ref<mlir::WalkResult(mlir::Value)> visit) {
  llvm::SmallVector<mlir::Value> pending = {root};
  llvm::DenseSet<mlir::Value> seen;
  while (!pending.empty()) {
    mlir::Value value = yieldedValue(pending.pop_back_val());
    if (!seen.insert(value).second)
      continue;
    mlir::WalkResult result = visit(value);
    if (result.wasInterrupted())
      return true;
    mlir::Operation *op = value.getDefiningOp();
    if (op && !result.wasSkipped())
      llvm::append_range(pending, llvm::reverse(op->getOperands()));
  }
  return false;
}

} // namespace polyattn

#endif // POLYATTN_DIALECTS_DEPENDENCIES_H

//===- TileValues.h - facts about the values of a block program -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does not depend on the machine. Which values are deferred, computed where their only user
// is, and which are views of another value's memory every lowering decides for itself.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILEVALUES_H
#define POLYATTN_LIB_CONVERSION_TILEVALUES_H

#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Null for what is no tile.
inline tile::TileType tileType(mlir::Value value) {
  return llvm::dyn_cast<tile::TileType>(value.getType());
}

inline bool sameShape(mlir::Value a, mlir::Value b) {
  return tileType(a).getRows() == tileType(b).getRows() &&
         tileType(a).getColumns() == tileType(b).getColumns();
}

/// Whether an op between two of one block writes to a buffer.
inline bool writesBuffersBetween(mlir::Operation *first, mlir::Operation *last) {
  auto isWrite = [](mlir::Operation *op) {
    return llvm::isa<tile::AccumulateOp, tile::WriteOp>(op) ? mlir::WalkResult::interrupt()
                                                            : mlir::WalkResult::advance();
  };
  for (mlir::Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (op->walk(isWrite).wasInterrupted())
      return true;
  return false;
}

using ValuePredicate = llvm::function_ref<bool(mlir::Value)>;

/// The op at which the result of `op` is computed at last.
inline mlir::Operation *evaluationPoint(mlir::Operation *op, ValuePredicate isDeferred) {
  while (op->getNumResults() == 1 && tileType(op->getResult(0)) && isDeferred(op->getResult(0)))
    op = *op->getUsers().begin();
  return op;
}

/// The last op in the block of `value` that reads its memory, in program order.
inline mlir::Operation *lastUse(mlir::Value value, ValuePredicate isDeferred,
                                ValuePredicate isView) {
  mlir::Block *block = value.getParentBlock();
  mlir::Operation *last = value.getDefiningOp();
  auto later = [&](mlir::Operation *op) {
    op = block->findAncestorOpInBlock(*op);
    if (op && (!last || last->isBeforeInBlock(op)))
      last = op;
  };
  for (mlir::Operation *user : value.getUsers()) {
    later(evaluationPoint(user, isDeferred));
    if (user->getNumResults() == 1 && tileType(user->getResult(0)) && isView(user->getResult(0)))
      later(lastUse(user->getResult(0), isDeferred, isView));
  }
  return last;
}

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_TILEVALUES_H

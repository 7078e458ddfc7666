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
#include "mlir/Interfaces/LoopLikeInterface.h"

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

/// Whether anything uses a value when `loop`, which stands in the value's block or deeper, has
/// ended: after it, or in the next turn of a loop around it.
inline bool isUsedAfter(mlir::Operation *loop, mlir::Value value) {
  for (mlir::Operation *op = loop;; op = op->getParentOp()) {
    auto isAfter = [&](mlir::Operation *user) {
      mlir::Operation *near = op->getBlock()->findAncestorOpInBlock(*user);
      return near && op->isBeforeInBlock(near);
    };
    if (llvm::any_of(value.getUsers(), isAfter))
      return true;
    if (op->getBlock() == value.getParentBlock())
      return false;
    mlir::Operation *around = op->getParentOp();
    auto isInside = [&](mlir::Operation *user) { return around->isProperAncestor(user); };
    if (llvm::isa<mlir::LoopLikeOpInterface>(around) && llvm::any_of(value.getUsers(), isInside))
      return true;
  }
}

using ValuePredicate = llvm::function_ref<bool(mlir::Value)>;

/// The last op in the block of `value` that reads its memory, in program order: where results that
/// `isPassedOn` are computed from it at their users, or are views of it, these count.
inline mlir::Operation *lastUse(mlir::Value value, ValuePredicate isPassedOn) {
  mlir::Block *block = value.getParentBlock();
  mlir::Operation *last = value.getDefiningOp();
  auto later = [&](mlir::Operation *op) {
    op = op ? block->findAncestorOpInBlock(*op) : op;
    if (op && (!last || last->isBeforeInBlock(op)))
      last = op;
  };
  for (mlir::Operation *user : value.getUsers()) {
    later(user);
    if (user->getNumResults() == 1 && tileType(user->getResult(0)) &&
        isPassedOn(user->getResult(0)))
      later(lastUse(user->getResult(0), isPassedOn));
  }
  return last;
}

} // namespace polyattn

#endif // POLYATTN_LIB_CONVERSION_TILEVALUES_H

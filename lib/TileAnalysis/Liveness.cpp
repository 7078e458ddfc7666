//===- Liveness.cpp - how long the values of a tile kernel are used -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Liveness.h"
#include "TileValues.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::isViewOfBuffer(Value value) {
  Operation *op = value.getDefiningOp();
  while (
      isa_and_nonnull<tile::SliceOp, tile::TransposeOp, tile::SelectRowsOp, tile::ToeplitzOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<tile::ReadOp>(op);
}

bool polyattn::writesBuffersBetween(Operation *first, Operation *last) {
  auto isWrite = [](Operation *op) {
    return isa<tile::AccumulateOp, tile::WriteOp>(op) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  };
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (op->walk(isWrite).wasInterrupted())
      return true;
  return false;
}

bool polyattn::isUsedAfter(Operation *loop, Value value) {
  for (Operation *op = loop;; op = op->getParentOp()) {
    auto isAfter = [&](Operation *user) {
      Operation *near = op->getBlock()->findAncestorOpInBlock(*user);
      return near && op->isBeforeInBlock(near);
    };
    if (llvm::any_of(value.getUsers(), isAfter))
      return true;
    if (op->getBlock() == value.getParentBlock())
      return false;
    Operation *around = op->getParentOp();
    auto isInside = [&](Operation *user) { return around->isProperAncestor(user); };
    if (isa<LoopLikeOpInterface>(around) && llvm::any_of(value.getUsers(), isInside))
      return true;
  }
}

Operation *polyattn::lastUse(Value value, llvm::function_ref<bool(Value)> isPassedOn) {
  Block *block = value.getParentBlock();
  Operation *last = value.getDefiningOp();
  auto later = [&](Operation *op) {
    op = op ? block->findAncestorOpInBlock(*op) : op;
    if (op && (!last || last->isBeforeInBlock(op)))
      last = op;
  };
  for (Operation *user : value.getUsers()) {
    later(user);
    if (user->getNumResults() == 1 && tileType(user->getResult(0)) &&
        isPassedOn(user->getResult(0)))
      later(lastUse(user->getResult(0), isPassedOn));
  }
  return last;
}

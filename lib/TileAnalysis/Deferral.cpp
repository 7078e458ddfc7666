//===- Deferral.cpp - values that are computed where they are used --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Deferral.h"
#include "Liveness.h"
#include "TileValues.h"

using namespace mlir;
using namespace polyattn;

bool polyattn::readsBuffer(Value value, PassedOn isPassedOn) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return isa<tile::ReadOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return tileType(operand) && isPassedOn(operand) && readsBuffer(operand, isPassedOn);
         });
}

int64_t polyattn::countEvaluated(Value value, PassedOn isPassedOn,
                                 llvm::function_ref<bool(Operation *)> counts) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  int64_t count = counts(op);
  for (Value operand : op->getOperands())
    if (tileType(operand) && isPassedOn(operand))
      count += countEvaluated(operand, isPassedOn, counts);
  return count;
}

bool polyattn::canMoveToUsers(Value value, PassedOn isPassedOn,
                              llvm::function_ref<bool(OpOperand &)> accepts) {
  Operation *op = value.getDefiningOp();
  bool reads = readsBuffer(value, isPassedOn);
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getBlock() == op->getBlock() && accepts(use) &&
           (!reads || !writesBuffersBetween(op, user));
  });
}

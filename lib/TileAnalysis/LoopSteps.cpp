//===- LoopSteps.cpp - how indices move with a loop -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSteps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace polyattn;

int64_t polyattn::stepPerIteration(Value index, scf::ForOp loop) {
  if (index == loop.getInductionVar())
    return loop.getConstantStep().value_or(APInt(64, 0)).getSExtValue();
  Operation *op = index.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return 0;
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (loop.isDefinedOutsideOfLoop(right))
    return stepPerIteration(left, loop);
  if (!loop.isDefinedOutsideOfLoop(left))
    return 0;
  int64_t step = stepPerIteration(right, loop);
  return isa<arith::AddIOp>(op) ? step : -step;
}

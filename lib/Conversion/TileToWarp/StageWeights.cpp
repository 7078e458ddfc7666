//===- StageWeights.cpp - weights that come to shared memory in a loop ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageWeights.h"
#include "ResidencyAnalysis.h"
#include "dialects/Tile/Inputs.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

static bool isFactor(OpOperand &use) {
  auto dot = dyn_cast<DotOp>(use.getOwner());
  return dot && isMatrixProduct(dot) && use.getOperandNumber() < 2;
}

/// The first of the products in one loop that all uses of a weight are, or null.
static Operation *firstProduct(LoadOp weight) {
  Operation *first = nullptr;
  for (OpOperand &use : weight->getUses()) {
    Operation *user = use.getOwner();
    if (!isFactor(use) || !isa<scf::ForOp>(user->getParentOp()) ||
        (first && user->getBlock() != first->getBlock()))
      return nullptr;
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  return first;
}

SmallVector<LoadOp> polyattn::tile_to_warp::weightsKeptNowhere(KernelOp kernel,
                                                               const ResidencyAnalysis &residency) {
  SmallVector<LoadOp> weights;
  for (auto load : kernel.getOps<LoadOp>())
    if (isWeight(load) && !isVector(load.getResult()) &&
        residency.of(load.getResult()) == Residency::Deferred)
      weights.push_back(load);
  return weights;
}

bool polyattn::tile_to_warp::canStage(LoadOp weight) {
  return isInput(weight.getMemref()) && firstProduct(weight);
}

void polyattn::tile_to_warp::stageWeight(LoadOp weight, const ResidencyAnalysis &residency) {
  Operation *first = firstProduct(weight);
  weight->moveBefore(first);
  // Products may be computed where their results are used.
  Operation *last = residency.lastUse(weight.getResult());
  auto isLater = [&](Operation *user) {
    return last->isBeforeInBlock(last->getBlock()->findAncestorOpInBlock(*user));
  };
  SmallVector<LoadOp> later;
  for (auto load : first->getBlock()->getOps<LoadOp>())
    if (isInput(load.getMemref()) && load->isBeforeInBlock(last) &&
        llvm::all_of(load->getUsers(), isLater))
      later.push_back(load);
  for (LoadOp load : llvm::reverse(later))
    load->moveAfter(last);
}

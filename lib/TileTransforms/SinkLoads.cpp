//===- SinkLoads.cpp - loads of one branch are in that branch -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "lib/TileAnalysis/TensorWrites.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace polyattn {
#define GEN_PASS_DEF_SINKLOADS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {
struct SinkLoads : polyattn::impl::SinkLoadsBase<SinkLoads> {
  void runOnOperation() override;

private:
  void sink(tile::LoadOp load);
};
} // namespace

/// Whether all programs load the same, which is done once for all of them.
static bool isOfAllPrograms(tile::LoadOp load) {
  return llvm::all_of(load.getIndices(),
                      [](Value index) { return matchPattern(index, m_Constant()); });
}

/// The blocks of branches beside the load that have all of its uses, each with its own; none where
/// one is beside the load itself, in a loop, or behind what may write the tensor.
static llvm::MapVector<Block *, SmallVector<OpOperand *>> branchesOf(tile::LoadOp load) {
  llvm::MapVector<Block *, SmallVector<OpOperand *>> branches;
  for (OpOperand &use : load.getResult().getUses()) {
    Operation *user = use.getOwner();
    Operation *beside = load->getBlock()->findAncestorOpInBlock(*user);
    if (beside == user || !isa<scf::IfOp>(beside) ||
        mayWriteBetween(load, beside, load.getMemref()))
      return {};
    auto branch = cast<scf::IfOp>(beside);
    bool isThen = branch.getThenRegion().isAncestor(user->getParentRegion());
    branches[isThen ? branch.thenBlock() : branch.elseBlock()].push_back(&use);
  }
  return branches;
}

void SinkLoads::sink(tile::LoadOp load) {
  auto branches = branchesOf(load);
  for (auto &[block, uses] : branches) {
    OpBuilder builder = OpBuilder::atBlockBegin(block);
    auto own = cast<tile::LoadOp>(builder.clone(*load));
    for (OpOperand *use : uses)
      use->set(own.getResult());
    sink(own);
  }
  if (!branches.empty())
    load.erase();
}

void SinkLoads::runOnOperation() {
  SmallVector<tile::LoadOp> loads;
  getOperation()->walk([&](tile::LoadOp load) {
    if (!isOfAllPrograms(load))
      loads.push_back(load);
  });
  for (tile::LoadOp load : loads)
    sink(load);
}

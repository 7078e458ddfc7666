//===- RepeatLoads.cpp - loads again instead of tiles that are kept -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two equal loads have become one, also where one stands before the loop over positions and the
// other behind it, as those of an initial state do that is a final one where there are no
// positions. Then shared memory would hold the tile for all of the loop.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Inputs.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_REPEATLOADS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

/// Whether a loop between `load` and `last`, in one block, has no use for the tile.
static bool isHeldByIdleLoop(LoadOp load, Operation *last) {
  for (Operation *op = load->getNextNode(); op != last; op = op->getNextNode())
    if (isa<scf::ForOp>(op) &&
        llvm::none_of(load->getUsers(), [&](Operation *user) { return op->isAncestor(user); }))
      return true;
  return false;
}

namespace {
struct RepeatLoadsPass : polyattn::impl::RepeatLoadsBase<RepeatLoadsPass> {
  using RepeatLoadsBase::RepeatLoadsBase;

  /// Before each block's first use behind such a loop; not inside another loop.
  static void repeat(LoadOp load) {
    llvm::DenseMap<Block *, Operation *> firstUsers;
    for (Operation *user : load->getUsers()) {
      Operation *near = load->getBlock()->findAncestorOpInBlock(*user);
      auto loop = user->getParentOfType<scf::ForOp>();
      if ((loop && near->isAncestor(loop)) || !isHeldByIdleLoop(load, near))
        continue;
      Operation *&first = firstUsers[user->getBlock()];
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    for (auto [block, first] : firstUsers) {
      OpBuilder builder(first);
      auto again = cast<LoadOp>(builder.clone(*load));
      Value tile = load.getResult();
      tile.replaceUsesWithIf(again.getResult(), [&, block = block](OpOperand &use) {
        return use.getOwner()->getBlock() == block && again->isBeforeInBlock(use.getOwner());
      });
    }
    if (load->use_empty())
      load.erase();
  }

  void runOnOperation() final {
    getOperation()->walk([](KernelOp kernel) {
      SmallVector<LoadOp> loads;
      kernel.walk([&](LoadOp load) {
        // What the kernel writes is no longer there. Vectors are small.
        if (isInput(load.getMemref()) && !isVector(load.getResult()))
          loads.push_back(load);
      });
      llvm::for_each(loads, repeat);
    });
  }
};
} // namespace

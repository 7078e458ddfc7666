//===- ReuseWindows.cpp - windows of what a kernel computes whole ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over blocks of features computes a window of the features in each iteration. A kernel that
// has several attends, as those of gradients, or that differentiates its maps needs the same
// features, or the projections that they are made of, as a whole too.
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/MovableOps.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace polyattn {
#define GEN_PASS_DEF_REUSEWINDOWS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {
/// Rows of `whole` from `row` on, all columns.
struct RowWindow {
  Value whole;
  Value row;
};

/// What one loop computes a window of, found among the ops of its block.
class LoopWindows {
public:
  LoopWindows(scf::ForOp loop, const DominanceInfo &dominance) : loop(loop), dominance(dominance) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
      RowWindow window = windowOf(op);
      if (!window.whole)
        continue;
      windows[op.getResult(0)] = window;
      if (isa<SliceOp>(op))
        continue;
      OpBuilder builder(&op);
      Value column = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
      Value slice = SliceOp::create(builder, op.getLoc(), op.getResult(0).getType(), window.whole,
                                    window.row, column);
      windows[slice] = window;
      op.getResult(0).replaceAllUsesWith(slice);
      dead.push_back(&op);
    }
    for (Operation *op : llvm::reverse(dead))
      op->erase();
  }

private:
  RowWindow windowOf(Operation &op) {
    return llvm::TypeSwitch<Operation *, RowWindow>(&op)
        .Case<SliceOp, DotOp, MapOp>([&](auto op) { return windowOf(op); })
        .Default([](Operation *) { return RowWindow(); });
  }

  RowWindow windowOf(SliceOp slice) {
    bool allColumns = matchPattern(slice.getColumn(), m_Zero()) &&
                      tileType(slice.getSource()).getColumns() == slice.getType().getColumns();
    if (!allColumns || !loop.isDefinedOutsideOfLoop(slice.getSource()))
      return {};
    return {slice.getSource(), slice.getRow()};
  }

  /// A product whose rows are a window: of weights [d, m] by columns, of their transpose by rows.
  RowWindow windowOf(DotOp dot) {
    auto slice = dot.getLhs().getDefiningOp<SliceOp>();
    if (!slice || !isPlain(dot) || !loop.isDefinedOutsideOfLoop(slice.getSource()) ||
        !loop.isDefinedOutsideOfLoop(dot.getRhs()))
      return {};
    Value other = dot.getLhsTransposed() ? slice.getRow() : slice.getColumn();
    TileType window = slice.getType(), source = tileType(slice.getSource());
    bool allTerms = dot.getLhsTransposed() ? window.getRows() == source.getRows()
                                           : window.getColumns() == source.getColumns();
    if (!matchPattern(other, m_Zero()) || !allTerms)
      return {};
    for (Operation *user : slice.getSource().getUsers()) {
      auto whole = dyn_cast<DotOp>(user);
      if (whole && whole.getLhs() == slice.getSource() && whole.getRhs() == dot.getRhs() &&
          whole.getLhsTransposed() == dot.getLhsTransposed() && isPlain(whole) &&
          whole.getPrecision() == dot.getPrecision() && isThereBefore(whole))
        return {whole.getResult(), dot.getLhsTransposed() ? slice.getColumn() : slice.getRow()};
    }
    return {};
  }

  /// An element-wise function of windows of the same rows and of what is one row for all.
  RowWindow windowOf(MapOp map) {
    SmallVector<Value> wholes;
    Value row;
    for (Value input : map.getInputs()) {
      RowWindow window = windows.lookup(input);
      if (!window.whole) {
        if (tileType(input).getRows() != 1 || !loop.isDefinedOutsideOfLoop(input))
          return {};
        wholes.push_back(input);
        continue;
      }
      if (row && row != window.row)
        return {};
      row = window.row;
      wholes.push_back(window.whole);
    }
    if (!row)
      return {};
    for (Operation *user : wholes.front().getUsers()) {
      auto whole = dyn_cast<MapOp>(user);
      if (whole && llvm::equal(whole.getInputs(), wholes) && haveSameRegions(whole, map) &&
          whole.getType().getRows() != map.getType().getRows() && isThereBefore(whole))
        return {whole.getResult(), row};
    }
    return {};
  }

  /// Sums all terms of all entries, and nothing else.
  static bool isPlain(DotOp dot) {
    return !dot.getAcc() && !dot.getBound() && dot.getTriangle() == Triangle::None &&
           dot.getLhsTriangle() == Triangle::None;
  }

  /// Whether `op` is computed before the loop, or as often and can be: then it is moved there.
  bool isThereBefore(Operation *op) {
    if (dominance.properlyDominates(op, loop))
      return true;
    Operation *near = loop->getBlock()->findAncestorOpInBlock(*op);
    if (!near || near == loop)
      return false;
    for (Operation *parent = op->getParentOp(); parent != near->getParentOp();
         parent = parent->getParentOp())
      if (!isa<scf::IfOp>(parent))
        return false;
    if (!llvm::all_of(op->getOperands(), [&](Value operand) {
          return dominance.properlyDominates(operand, loop.getOperation());
        }))
      return false;
    op->moveBefore(loop);
    return true;
  }

  scf::ForOp loop;
  const DominanceInfo &dominance;
  llvm::DenseMap<Value, RowWindow> windows;
  SmallVector<Operation *> dead;
};

struct ReuseWindowsPass : polyattn::impl::ReuseWindowsBase<ReuseWindowsPass> {
  using ReuseWindowsBase::ReuseWindowsBase;

  void runOnOperation() final {
    getOperation()->walk([](KernelOp kernel) {
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      // What moves stays in its region, whose blocks keep their order.
      DominanceInfo dominance(kernel);
      for (scf::ForOp loop : loops)
        LoopWindows(loop, dominance).run();
    });
  }
};
} // namespace

//===- FuseWindows.cpp - windows computed in the loops that read them -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels compute features and projections whole, and loops over blocks of features read windows of
// them. Where nobody else reads the whole, each iteration computes its own window, and the whole is
// never there.
//
//===----------------------------------------------------------------------===//

#include "lib/TileAnalysis/Liveness.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_FUSEWINDOWS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

/// Whether a slice has all columns of some rows.
static bool isWindow(SliceOp slice) {
  TileType source = tileType(slice.getSource()), window = slice.getType();
  return matchPattern(slice.getColumn(), m_Zero()) && source.getColumns() == window.getColumns() &&
         source.getRows() > window.getRows();
}

/// Whether rows of the op's result follow from rows of its operands: an element-wise function, or a
/// product that sums all terms of all entries and nothing else.
static bool hasWindows(Operation *op) {
  if (op && llvm::any_of(op->getOperands(), isViewOfBuffer))
    return false;
  if (auto dot = dyn_cast_or_null<DotOp>(op))
    return !dot.getAcc() && !dot.getBound() && dot.getTriangle() == Triangle::None &&
           dot.getLhsTriangle() == Triangle::None;
  return isa_and_nonnull<MapOp>(op);
}

/// Whether `user` comes before `op` in the kernel's text.
static bool comesBefore(Operation *user, Operation *op) {
  for (Operation *around = op; !isa<KernelOp>(around); around = around->getParentOp())
    if (Operation *beside = around->getBlock()->findAncestorOpInBlock(*user))
      return beside != around && beside->isBeforeInBlock(around);
  return false;
}

/// Moves a value to its first reader, into the branch that has all of them: no memory holds it
/// before.
static void sink(Operation *op) {
  auto firstIn = [&](Block *block) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (Operation *in = block->findAncestorOpInBlock(*user))
        first = first && first->isBeforeInBlock(in) ? first : in;
    return first;
  };
  auto hasAll = [&](Block *block) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return block->findAncestorOpInBlock(*user) != nullptr;
    });
  };
  Operation *first = firstIn(op->getBlock());
  while (auto branch = dyn_cast<scf::IfOp>(first)) {
    Block *blocks[] = {branch.thenBlock(), branch.elseBlock()};
    Block **all = llvm::find_if(blocks, [&](Block *block) { return block && hasAll(block); });
    if (all == std::end(blocks))
      break;
    first = firstIn(*all);
  }
  op->moveBefore(first);
}

namespace {
/// One window, and what it is computed of.
class Window {
public:
  Window(SliceOp slice, bool reuseLater) : slice(slice), reuseLater(reuseLater), builder(slice) {}

  /// Whether the window is one of a loop that the whole is not in, or all that is read of it.
  bool canBeFused() const {
    Operation *whole = slice.getSource().getDefiningOp();
    if (!hasWindows(whole))
      return false;
    if (slice.getSource().hasOneUse())
      return true;
    for (Operation *loop = slice->getParentOp(); !isa<KernelOp>(loop); loop = loop->getParentOp())
      if (isa<scf::ForOp>(loop))
        return !loop->isAncestor(whole);
    return false;
  }

  /// Adds to `fused` what windows are computed of that nobody before them reads.
  void fuse(llvm::DenseSet<Operation *> &fused) {
    if (isReadWhole(slice.getSource()))
      return;
    slice.replaceAllUsesWith(rowsOf(slice.getSource()));
    for (auto [whole, window] : rows)
      if (!window.getDefiningOp<SliceOp>())
        fused.insert(whole.getDefiningOp());
  }

private:
  /// Whether something reads the value as a whole that is there before the window, or anything
  /// where later readers count.
  bool isReadWhole(Value value) {
    auto [it, isNew] = readWhole.try_emplace(value, true);
    if (!isNew)
      return it->second;
    bool result = llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (auto other = dyn_cast<SliceOp>(user); other && isWindow(other))
        return false;
      // Nobody reads a whole for the sake of one that nobody reads.
      bool isForRows = isa<MapOp>(user) || use.getOperandNumber() == 0;
      if (hasWindows(user) && isForRows)
        return isReadWhole(user->getResult(0));
      return reuseLater || comesBefore(user, slice);
    });
    return readWhole[value] = result;
  }

  Value sliceOf(Value whole, Value row, Value column, TileType type) {
    return SliceOp::create(builder, slice.getLoc(), type, whole, row, column);
  }

  /// The window's rows of a value.
  Value rowsOf(Value whole) {
    if (Value known = rows.lookup(whole))
      return known;
    return rows[whole] = computeRows(whole);
  }

  Value computeRows(Value whole) {
    TileType type = tileType(whole);
    TileType window = TileType::get(type.getContext(), slice.getType().getRows(), type.getColumns(),
                                    type.getElementType());
    Operation *op = whole.getDefiningOp();
    if (!hasWindows(op) || isReadWhole(whole))
      return sliceOf(whole, slice.getRow(), slice.getColumn(), window);
    IRMapping mapping;
    if (auto dot = dyn_cast<DotOp>(op))
      mapping.map(dot.getLhs(), factorsOf(dot));
    else
      for (Value input : op->getOperands())
        if (tileType(input).getRows() != 1)
          mapping.map(input, rowsOf(input));
    Operation *own = builder.clone(*op, mapping);
    own->getResult(0).setType(window);
    return own->getResult(0);
  }

  /// The rows of a product's first factor, or its columns where it is transposed.
  Value factorsOf(DotOp dot) {
    TileType lhs = dot.getLhs().getType();
    bool transposed = dot.getLhsTransposed();
    int64_t count = slice.getType().getRows();
    auto type = TileType::get(lhs.getContext(), transposed ? lhs.getRows() : count,
                              transposed ? count : lhs.getColumns(), lhs.getElementType());
    return transposed ? sliceOf(dot.getLhs(), slice.getColumn(), slice.getRow(), type)
                      : sliceOf(dot.getLhs(), slice.getRow(), slice.getColumn(), type);
  }

  mutable SliceOp slice; // its accessors are not const
  bool reuseLater;
  OpBuilder builder;
  llvm::DenseMap<Value, bool> readWhole;
  llvm::DenseMap<Value, Value> rows;
};

struct FuseWindowsPass : polyattn::impl::FuseWindowsBase<FuseWindowsPass> {
  using FuseWindowsBase::FuseWindowsBase;

  void runOnOperation() final {
    SmallVector<SliceOp> windows;
    getOperation()->walk([&](SliceOp slice) {
      if (isWindow(slice))
        windows.push_back(slice);
    });
    llvm::DenseSet<Operation *> fused;
    for (SliceOp slice : windows)
      if (Window window(slice, reuseLater); window.canBeFused())
        window.fuse(fused);
    // Readers come after what they read.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<SliceOp, MapOp, DotOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
      else if (fused.contains(op))
        sink(op);
  }
};
} // namespace

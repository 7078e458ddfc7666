//===- FoldTransposes.cpp - element-wise functions turned back ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed from an attend's result is computed of columns, as projections are. The gradient
// of a map without any is element-wise: the result's rows then became columns and rows again.
// Vectors of features are columns, too, and so is what only sums over features read of them.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Inputs.h"
#include "lib/TileAnalysis/Liveness.h"
#include "lib/TileAnalysis/MovableOps.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace polyattn {
#define GEN_PASS_DEF_FOLDTRANSPOSES
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// What values are computed from
//===----------------------------------------------------------------------===//

/// Whether the transpose of `value` costs no more than it does: one that is turned back, another
/// way to read a tensor that the kernel does not write, a row or a column, or a number.
static bool isFree(Value value) {
  if (auto load = value.getDefiningOp<LoadOp>())
    return isInput(load.getMemref());
  return isVector(value) || value.getDefiningOp<TransposeOp>() || value.getDefiningOp<ConstantOp>();
}

namespace {
/// Element-wise functions, each behind those that it is computed by, and what they begin with.
struct MapTree {
  llvm::SetVector<MapOp> maps;
  llvm::SetVector<Value> leaves;

  /// Collects what `value` is computed by. False where that begins with something whose transpose
  /// is not free.
  bool collect(Value value) {
    auto map = value.getDefiningOp<MapOp>();
    if (!map || isVector(value)) {
      leaves.insert(value);
      return isFree(value);
    }
    if (maps.contains(map))
      return true;
    bool isFree = llvm::all_of(map.getInputs(), [&](Value input) { return collect(input); });
    maps.insert(map);
    return isFree;
  }

  bool contains(Operation *op) const {
    auto map = dyn_cast<MapOp>(op);
    return map && maps.contains(map);
  }
  /// Whether nobody but `user` and the functions themselves uses the value.
  bool isOnlyFor(Value value, Operation *user) const {
    return llvm::all_of(value.getUsers(),
                        [&](Operation *other) { return other == user || contains(other); });
  }
  bool isOnlyFor(Operation *user) const {
    return llvm::all_of(maps, [&](MapOp map) { return isOnlyFor(map.getResult(), user); });
  }
  /// Whether the functions may be computed where `user` stands: none reads rows of a buffer that
  /// are written on the way there.
  bool canMoveTo(Operation *user) const {
    return llvm::all_of(maps, [&](MapOp map) {
      return llvm::none_of(map.getInputs(), isViewOfBuffer) ||
             (map->getBlock() == user->getBlock() && !writesBuffersBetween(map, user));
    });
  }
};
} // namespace

/// A load of the same window of a tensor the other way, or null.
static LoadOp findTwin(LoadOp load, Operation *before) {
  for (Operation *user : load.getMemref().getUsers()) {
    auto twin = dyn_cast<LoadOp>(user);
    if (twin && twin->getBlock() == before->getBlock() && twin->isBeforeInBlock(before) &&
        twin.getTransposed() != load.getTransposed() && twin.getIndices() == load.getIndices() &&
        twin.getValid() == load.getValid() && twin.getRowDim() == load.getRowDim() &&
        twin.getColDim() == load.getColDim() && twin.getType() == transposedType(load.getResult()))
      return twin;
  }
  return {};
}

static bool isCheap(MapOp map) {
  return llvm::all_of(map.getBody().front().without_terminator(), [](Operation &op) {
    return isa<arith::ArithDialect>(op.getDialect()) && !isa<arith::DivFOp>(op);
  });
}

//===----------------------------------------------------------------------===//
// The other way
//===----------------------------------------------------------------------===//

static Value transpose(OpBuilder &builder, Value value) {
  if (auto outer = value.getDefiningOp<TransposeOp>())
    return outer.getSource();
  if (isVector(value) && !value.getDefiningOp<ConstantOp>())
    return TransposeOp::create(builder, value.getLoc(), transposedType(value), value);
  builder.setInsertionPointAfterValue(value);
  Operation *turned = builder.clone(*value.getDefiningOp());
  turned->getResult(0).setType(transposedType(value));
  if (auto load = dyn_cast<LoadOp>(turned))
    load.setTransposed(!load.getTransposed());
  return turned->getResult(0);
}

/// The transpose of the last of the functions, computed before `user`.
static Value transpose(const MapTree &tree, Operation *user) {
  IRMapping mapping;
  OpBuilder builder(user);
  for (Value leaf : tree.leaves) {
    auto load = leaf.getDefiningOp<LoadOp>();
    LoadOp twin = load ? findTwin(load, user) : LoadOp();
    builder.setInsertionPoint(user);
    mapping.map(leaf, twin ? twin.getResult() : transpose(builder, leaf));
  }
  builder.setInsertionPoint(user);
  for (MapOp map : tree.maps)
    builder.clone(*map, mapping)->getResult(0).setType(transposedType(map.getResult()));
  MapOp last = tree.maps.back();
  return mapping.lookup(Value(last.getResult()));
}

static void eraseUnused(const MapTree &tree) {
  for (MapOp map : llvm::reverse(tree.maps))
    if (map->use_empty())
      map->erase();
  for (Value leaf : tree.leaves)
    if (Operation *op = leaf.getDefiningOp(); op && isOpTriviallyDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// Where that is less
//===----------------------------------------------------------------------===//

static bool isTransposedLoad(Value value) {
  auto load = value.getDefiningOp<LoadOp>();
  return load && load.getTransposed() && !isVector(value);
}

/// Sums over the columns of rows what was summed over the rows of columns. A tensor has rows:
/// columns are the dearer ones to load.
static void sumByRows(ReduceOp reduce) {
  MapTree tree;
  bool isPlain = reduce.getAxis() == Axis::Rows && !reduce.getBound() &&
                 reduce.getTriangle() == Triangle::None;
  if (!isPlain || !tree.collect(reduce.getInput()) || tree.maps.empty() ||
      !tree.isOnlyFor(reduce) || !tree.canMoveTo(reduce))
    return;
  bool areColumns = llvm::all_of(tree.leaves, [](Value leaf) {
    return isTransposedLoad(leaf) || isVector(leaf) || leaf.getDefiningOp<ConstantOp>();
  });
  bool isLess = llvm::any_of(tree.leaves, [&](Value leaf) {
    return isTransposedLoad(leaf) && tree.isOnlyFor(leaf, reduce);
  });
  if (!areColumns || !isLess)
    return;
  Value rows = transpose(tree, reduce);
  OpBuilder builder(reduce);
  Value sums = ReduceOp::create(builder, reduce.getLoc(), transposedType(reduce.getResult()), rows,
                                /*bound=*/Value(), reduce.getKind(), Axis::Columns,
                                /*lower=*/false, /*upper=*/false);
  Value row = TransposeOp::create(builder, reduce.getLoc(), reduce.getType(), sums);
  reduce.replaceAllUsesWith(row);
  reduce.erase();
  eraseUnused(tree);
}

/// A function that is not cheap, of rows that it has been computed of by columns or the other way
/// around: moving its values is less.
static void computeOnce(MapOp map) {
  auto load = map.getInputs().size() == 1 ? map.getInputs()[0].getDefiningOp<LoadOp>() : LoadOp();
  if (!load || isCheap(map) || isVector(load) || load->getBlock() != map->getBlock())
    return;
  LoadOp twin = findTwin(load, map);
  if (!twin)
    return;
  for (Operation *user : twin->getUsers()) {
    auto other = dyn_cast<MapOp>(user);
    if (!other || other->getBlock() != map->getBlock() || !other->isBeforeInBlock(map) ||
        !haveSameRegions(other, map))
      continue;
    OpBuilder builder(map);
    Value turned = TransposeOp::create(builder, map.getLoc(), map.getType(), other.getResult());
    map.replaceAllUsesWith(turned);
    map.erase();
    if (isOpTriviallyDead(load))
      load.erase();
    return;
  }
}

static void fold(TransposeOp transposeOp) {
  MapTree tree;
  if (!transposeOp.getSource().getDefiningOp<MapOp>() || !tree.collect(transposeOp.getSource()) ||
      tree.maps.empty() || !tree.canMoveTo(transposeOp))
    return;
  bool turnsBack =
      llvm::any_of(tree.leaves, [](Value leaf) { return leaf.getDefiningOp<TransposeOp>(); });
  // Nothing is computed twice, and something is turned back; or what is computed twice is cheap
  // and of rows that are there both ways.
  bool isOnce = turnsBack && tree.isOnlyFor(transposeOp);
  bool isCheapTwice =
      llvm::all_of(tree.maps, isCheap) && llvm::all_of(tree.leaves, [&](Value leaf) {
        auto load = leaf.getDefiningOp<LoadOp>();
        return isVector(leaf) || (load && findTwin(load, transposeOp));
      });
  if (!isOnce && !isCheapTwice)
    return;
  transposeOp.replaceAllUsesWith(transpose(tree, transposeOp));
  transposeOp.erase();
  eraseUnused(tree);
}

namespace {
struct FoldTransposesPass : polyattn::impl::FoldTransposesBase<FoldTransposesPass> {
  using FoldTransposesBase::FoldTransposesBase;

  void runOnOperation() final {
    forEach<ReduceOp>(sumByRows);
    forEach<MapOp>(computeOnce);
    forEach<TransposeOp>(fold);
  }

private:
  template <typename Op> void forEach(llvm::function_ref<void(Op)> rewrite) {
    SmallVector<Op> ops;
    getOperation()->walk([&](Op op) { ops.push_back(op); });
    llvm::for_each(ops, rewrite);
  }
};
} // namespace

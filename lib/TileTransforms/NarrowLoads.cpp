//===- NarrowLoads.cpp - programs of a cluster load their own parts -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state and weights that one multiprocessor cannot keep would come from the L2 cache for every
// block of positions. The programs of a cluster share the features of a head: each keeps its part,
// computes with its features, and adds up what all have of O and Z. Of weights that have a column,
// or an element, for each feature it needs its own part alone.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Inputs.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_NARROWLOADS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {
/// The part of a program: `length` rows or columns from `begin` on, the program's rank times that.
struct Share {
  arith::MulIOp begin;
  int64_t length;
};
} // namespace

/// The share that begins with a value, if it is one.
static std::optional<Share> shareFrom(Value begin) {
  auto product = begin.getDefiningOp<arith::MulIOp>();
  if (!product || !product.getLhs().getDefiningOp<ClusterRankOp>())
    return std::nullopt;
  std::optional<int64_t> length = getConstantIntValue(product.getRhs());
  return length ? std::optional(Share{product, *length}) : std::nullopt;
}

/// The share that `count` rows or columns from `offset` on are part of: the offset is its begin, or
/// as much more as a loop inside of it counts.
static std::optional<Share> shareOf(Value offset, int64_t count) {
  if (std::optional<Share> share = shareFrom(offset))
    return count <= share->length ? share : std::nullopt;
  auto sum = offset.getDefiningOp<arith::AddIOp>();
  std::optional<Share> share = sum ? shareFrom(sum.getLhs()) : std::nullopt;
  auto counter = sum ? dyn_cast<BlockArgument>(sum.getRhs()) : BlockArgument();
  auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
  if (!share || !loop || loop.getInductionVar() != counter)
    return std::nullopt;
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                         end = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!first || !end || !step || *first < 0 || *step < 1 || *end <= *first)
    return std::nullopt;
  int64_t last = *first + (*end - 1 - *first) / *step * *step;
  return last + count <= share->length ? share : std::nullopt;
}

/// Loads the program's share alone where the slices of a load are all in it, along rows or columns.
static void narrow(LoadOp load, bool alongRows) {
  TileType type = load.getType();
  auto offsetOf = [&](SliceOp slice) -> OpOperand & {
    return alongRows ? slice.getRowMutable() : slice.getColumnMutable();
  };
  int64_t length = alongRows ? type.getRows() : type.getColumns();
  int64_t dimension = tensorDimOf(load, alongRows);
  // What stands before the load counts from the tensor's begin, and all of it is there.
  if (load.getValid() || dimension < 0 || load->use_empty() ||
      !isConstantIntValue(load.getIndices()[dimension], 0))
    return;
  std::optional<Share> share;
  for (Operation *user : load->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice)
      return;
    TileType window = slice.getType();
    auto own = shareOf(offsetOf(slice).get(), alongRows ? window.getRows() : window.getColumns());
    if (!own || (share && own->begin != share->begin))
      return;
    share = own;
  }
  if (share->length >= length)
    return;
  Block &body = load->getParentOfType<KernelOp>().getBody().front();
  // Before all loads, of which this one may be the first.
  Operation *product = share->begin;
  product->moveBefore(&body, body.begin());
  for (Value factor : product->getOperands())
    factor.getDefiningOp()->moveBefore(product);
  load.getIndicesMutable()[dimension].set(share->begin);
  load.getResult().setType(
      TileType::get(type.getContext(), alongRows ? share->length : type.getRows(),
                    alongRows ? type.getColumns() : share->length, type.getElementType()));
  for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
    auto slice = cast<SliceOp>(user);
    if (slice.getType() == load.getType()) {
      slice.replaceAllUsesWith(load.getResult());
      slice.erase();
      continue;
    }
    OpBuilder builder(user);
    OpOperand &offset = offsetOf(slice);
    auto sum = offset.get().getDefiningOp<arith::AddIOp>();
    offset.set(sum ? sum.getRhs()
                   : arith::ConstantIndexOp::create(builder, user->getLoc(), 0).getResult());
  }
}

/// Loads each row, or column, by itself where a matrix is read by single ones. They begin at
/// numbers that are known where the load stands.
static void splitLines(LoadOp load) {
  TileType type = load.getType();
  if (load->use_empty() || isVector(load.getResult()))
    return;
  SmallVector<SliceOp> lines;
  for (Operation *user : load->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || !isVector(slice.getResult()) || !getConstantIntValue(slice.getRow()) ||
        !getConstantIntValue(slice.getColumn()))
      return;
    // Along the line all of it: rows that are not valid are the load's.
    TileType line = slice.getType();
    bool isRow = line.getRows() == 1;
    bool isWhole =
        isRow ? line.getColumns() == type.getColumns() : line.getRows() == type.getRows();
    int64_t dimension = tensorDimOf(load, /*alongRows=*/isRow);
    if (!isWhole || dimension < 0 || (load.getValid() && dimension == int64_t(load.getRowDim())))
      return;
    lines.push_back(slice);
  }
  for (SliceOp slice : lines) {
    OpBuilder builder(load);
    bool isRow = slice.getType().getRows() == 1;
    int64_t number = *getConstantIntValue(isRow ? slice.getRow() : slice.getColumn());
    int64_t dimension = tensorDimOf(load, /*alongRows=*/isRow);
    Value begin = load.getIndices()[dimension];
    if (number) {
      Value shift = arith::ConstantIndexOp::create(builder, load.getLoc(), number);
      begin = builder.createOrFold<arith::AddIOp>(load.getLoc(), begin, shift);
    }
    auto line = cast<LoadOp>(builder.clone(*load));
    line.getResult().setType(slice.getType());
    line.getIndicesMutable()[dimension].set(begin);
    slice.replaceAllUsesWith(line.getResult());
    slice.erase();
  }
  load.erase();
}

namespace {
struct NarrowLoadsPass : polyattn::impl::NarrowLoadsBase<NarrowLoadsPass> {
  void runOnOperation() final {
    getOperation()->walk([](KernelOp kernel) {
      SmallVector<LoadOp> loads;
      kernel.walk([&](LoadOp load) { loads.push_back(load); });
      llvm::for_each(loads, splitLines);
      if (kernel.getClusterSize() == 1)
        return;
      for (auto load : llvm::to_vector(kernel.getBody().front().getOps<LoadOp>()))
        for (bool alongRows : {true, false})
          if (isInput(load.getMemref()))
            narrow(load, alongRows);
    });
  }
};
} // namespace

//===- RowSums.cpp - sums of rows on the tensor cores ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A normalizer sums what a product has as its left factor: phi_q m beside phi_q S, phi_k 1 beside
// phi_k V. Computed together they read its fragments once.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "ThreadElements.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

Values KernelLowering::vectorFragment(Value vector, Value term) {
  Value column = e.divide(lane, 4), isFirst = e.less(column, 1);
  Values words;
  Value one = e.i32(0x3f803f80); // two of bf16
  if (!vector)
    return Values(2, e.select(isFirst, one, e.i32(0)));
  Coordinates k;
  k.base = e.add(e.multiply(e.modulo(lane, 4), 2), term);
  k.offsets = {0, 1, 8, 9};
  k.run = 2;
  TileType type = tileType(vector);
  ThreadElements owned;
  if (type.getColumns() > 1)
    owned.columns = k;
  else if (type.getRows() > 1)
    owned.rows = k;
  Values elements = evaluate(vector, owned);
  // One number has no neighbours.
  if (elements.size() == 1)
    elements = {e.select(e.less(k.base, 1), elements[0], e.f32(0)), e.f32(0), e.f32(0), e.f32(0)};
  for (int64_t i = 0; i < 4; i += 2) {
    auto [rounded, rest] = e.splitPair(elements[i], elements[i + 1]);
    Value second = e.select(e.less(column, 2), rest, e.i32(0));
    words.push_back(e.select(isFirst, rounded, second));
  }
  return words;
}

Values KernelLowering::ownShare(ArrayRef<Values> fragments, int64_t first,
                                const WarpTile &warpTile) {
  Values own = fragments[first];
  for (int64_t other = 1; other < warpTile.shares(); ++other) {
    Value isOther =
        e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, warpTile.sharer, e.i32(other));
    for (auto [word, another] : llvm::zip(own, fragments[first + other]))
      word = e.select(isOther, another, word);
  }
  return own;
}

void KernelLowering::writeRowSums(const RowSums &rowSums, const WarpTile &warpTile,
                                  ArrayRef<Value> sums) {
  // The first lane of four has the first two columns of rows l / 4 and l / 4 + 8. Where the warps
  // of a row do not share them, all have the same sums.
  Value writes = e.less(e.modulo(lane, 4), 1);
  int64_t shares = warpTile.shares();
  if (warpTile.column && shares == 1)
    writes = e.both(writes, e.less(warpTile.column, 1));
  Value first = rowSumOf(e, warpTile.row, lane);
  if (shares > 1)
    first = e.add(first, e.multiply(warpTile.sharer, 16));
  for (int64_t half = 0; half < 2 * warpTile.rowTiles / shares; ++half) {
    Value sum = arith::AddFOp::create(e, sums[2 * half], sums[2 * half + 1]);
    Value row = e.add(first, 16 * shares * (half / 2) + 8 * (half % 2));
    Value exists = rowSums.rows % 16 ? e.less(row, rowSums.rows) : Value();
    e.when(e.both(writes, exists), [&] { rowSums.write(row, sum); });
    if (exists && rowSums.clear) {
      Value isPadding =
          e.both(e.less(e.i32(rowSums.rows - 1), row), e.less(row, roundUp(rowSums.rows, 16)));
      e.when(e.both(writes, isPadding), [&] { rowSums.clear(row); });
    }
  }
}

bool KernelLowering::reduceByProducts(const Reduction &reduction, WriteSum write) {
  if (!reduction.matrix || reduction.kind != ReduceKind::Add || !residency.roundsToBF16() ||
      !(matricesOf(reduction.matrix) || runsToForm(reduction.matrix)))
    return false;
  Product product;
  product.lhs = reduction.matrix;
  product.lhsTransposed = reduction.transposed;
  product.bound = reduction.bound;
  product.terms = reduction.length;
  // Tiles in memory have zeros in their padding; windows of them have the elements behind the
  // window.
  if (!product.bound && reduction.length % 16 && !computed.contains(reduction.matrix))
    product.bound = e.i32(reduction.length);
  auto layout = ThreadLayout::rowSums(options.warps, reduction.outputs);
  RowSums rowSums{reduction.vector, reduction.outputs,
                  [&](Value row, Value sum) { write(row, sum, layout); }};
  int64_t tiles = roundUp(reduction.outputs, 16) / 16;
  e.loop((tiles + options.warps - 1) / options.warps, [&](Value pass) {
    Value tile = e.add(warp, e.multiply(pass, options.warps));
    e.when(tiles % options.warps ? e.less(tile, tiles) : Value(), [&] {
      WarpTile warpTile;
      warpTile.row = e.multiply(tile, 16);
      warpTile.rowTiles = 1;
      multiply(product, warpTile, Values(), &rowSums);
    });
  });
  return true;
}

//===----------------------------------------------------------------------===//
// Row sums fused with a product
//===----------------------------------------------------------------------===//

/// Whether a value can be read at `point`: it was computed, or is a window of what is there.
static bool isThereAt(Value value, Operation *point, const DenseSet<Value> &computed) {
  if (!value || computed.contains(value))
    return true;
  auto read = value.getDefiningOp<ReadOp>();
  Operation *row = read ? read.getRow().getDefiningOp() : nullptr;
  return read && (!row || row->getBlock() != point->getBlock() || row->isBeforeInBlock(point));
}

/// All warps have a part of the product, and so of the sums.
bool KernelLowering::canHaveRowSums(DotOp dot) {
  TileType type = dot.getResult().getType();
  WarpLayout warps = residency.layoutOf(type.getRows(), type.getColumns());
  return residency.roundsToBF16() && warps.rowWarps * warps.columnWarps == options.warps;
}

DotOp KernelLowering::vectorProductToFuse(DotOp dot) {
  if (!dot.getLhsTransposed() || !canHaveRowSums(dot))
    return {};
  for (Operation *user : dot.getLhs().getUsers()) {
    auto product = dyn_cast<DotOp>(user);
    if (!product || product->getBlock() != dot->getBlock() || !dot->isBeforeInBlock(product) ||
        product.getRhs() != dot.getLhs() || product.getResult().getType().getRows() != 1 ||
        product.getBound() != dot.getBound() || computed.contains(product.getResult()) ||
        product.multipliesIn() == Precision::F32)
      continue;
    bool isThere = isThereAt(product.getLhs(), dot, computed) &&
                   (!product.getAcc() || computed.contains(product.getAcc()));
    if (isThere && !writesBuffersBetween(dot, product))
      return product;
  }
  return {};
}

/// Whether the sums over columns come with a product that has their matrix as its left factor.
static bool canFuse(ReduceOp reduce) {
  return addsColumns(reduce) && tileType(ColumnSum::of(reduce).matrix).getRows() % 16 == 0;
}

ReduceOp KernelLowering::columnSumToFuse(DotOp dot) {
  if (dot.getLhsTransposed() || !canHaveRowSums(dot))
    return {};
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce || computed.contains(reduce.getResult()) || !canFuse(reduce))
      continue;
    auto [matrix, weights] = ColumnSum::of(reduce);
    if (matrix == dot.getLhs() && reduce.getBound() == dot.getBound() &&
        (!weights || computed.contains(weights)))
      return reduce;
  }
  return {};
}

KernelLowering::RowSums KernelLowering::rowSumsInto(Value result, Value vector, Value initial) {
  TileMemory storage = allocateFor(result);
  computed.insert(result);
  bool isRow = tileType(result).getRows() == 1;
  auto storeAt = [this, storage, isRow](Value i, Value sum) {
    ThreadElements owned;
    (isRow ? owned.columns : owned.rows).base = i;
    recordWrite(storage, owned);
    storeElements(storage, owned, sum);
  };
  auto write = [this, storeAt, initial](Value i, Value sum) {
    if (initial)
      sum = arith::AddFOp::create(e, evaluateAt(initial, {}, i), sum);
    storeAt(i, sum);
  };
  // What reads the tile reads its padding, too.
  auto clear = [this, storeAt](Value i) { storeAt(i, e.f32(0)); };
  return {vector, tileType(result).getRows() * tileType(result).getColumns(), write, clear};
}

KernelLowering::RowSums KernelLowering::rowSumsOf(DotOp product) {
  return rowSumsInto(product.getResult(), product.getLhs(), product.getAcc());
}

KernelLowering::RowSums KernelLowering::rowSumsOf(ReduceOp reduce) {
  return rowSumsInto(reduce.getResult(), ColumnSum::of(reduce).weights, /*initial=*/Value());
}

AccumulateOp KernelLowering::updateToFuse(ReduceOp reduce) {
  auto [matrix, weights] = ColumnSum::of(reduce);
  if (!residency.roundsToBF16() || !canFuse(reduce))
    return {};
  // The update comes earlier than the program has it: nothing on the way may know its buffer.
  auto mayMove = [&](AccumulateOp update) {
    return llvm::all_of(update.getBuffer().getUsers(), [&](Operation *user) {
      user = reduce->getBlock()->findAncestorOpInBlock(*user);
      if (!user || user == update || update->isBeforeInBlock(user))
        return true;
      Operation *last = isa<ReadOp>(user) ? residency.lastUse(user->getResult(0)) : user;
      return last != reduce && last->isBeforeInBlock(reduce);
    });
  };
  auto isThere = [&](Value value) { return !value || computed.contains(value); };
  for (Operation *user : matrix.getUsers()) {
    auto update = dyn_cast<AccumulateOp>(user);
    if (update && update->getBlock() == reduce->getBlock() && reduce->isBeforeInBlock(update) &&
        update.getLhs() == matrix && update.getBound() == reduce.getBound() &&
        isMatrixProduct(update) && computed.contains(update.getRhs()) && isThere(weights) &&
        isThere(update.getFactor()) && mayMove(update))
      return update;
  }
  return {};
}

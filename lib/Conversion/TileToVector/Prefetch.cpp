//===- Prefetch.cpp - rows of tensors, before they are needed -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A head's rows lie far apart in tensors [B, T, H, width]: no hardware sees what comes next, and
// a load that waits for memory leaves the multipliers idle. So the products of one block fetch
// the rows of the next block, and those of its result, a line with each iteration of their loops.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

/// Whether the nest of this product has a register tile for each few rows of a block, and all of
/// them take equally long, long enough to wait for memory meanwhile.
static bool isTall(DotOp dot, int64_t rows) {
  constexpr int64_t fewestTerms = 32;
  TileType type = dot.getResult().getType();
  return dot.getTriangle() == Triangle::None && dot.getLhsTriangle() == Triangle::None &&
         dot.getRhs().getType().getRows() >= fewestTerms && type.getRows() == rows &&
         type.getColumns() > 1;
}

//===----------------------------------------------------------------------===//
// What to fetch, and where
//===----------------------------------------------------------------------===//

void KernelLowering::addWindow(Ahead &plan, Value memref, TileType type, OperandRange indices,
                               int64_t rowDim, int64_t ahead, bool written) {
  auto found = tensors.find(memref);
  if (found == tensors.end() || rowDim == int64_t(found->second.strides.size()) - 1)
    return;
  const Tensor &tensor = found->second;
  AheadWindow window{tensor.base,       tensor.element, 0, tensor.strides[rowDim],
                     type.getColumns(), written};
  for (auto [index, stride] : llvm::zip(indices, tensor.strides)) {
    if (!mapping.lookupOrNull(index) && !matchPattern(index, m_Constant()))
      return; // known later in the body only
    window.start = e.add(window.start, e.mul(scalar(index), stride));
  }
  window.start = e.add(window.start, e.mul(window.rowStride, ahead));
  plan.windows.push_back(window);
}

// The windows of the loads and stores whose rows start at the loop's induction variable.
void KernelLowering::planPrefetch(scf::ForOp loop) {
  std::optional<APInt> step = loop.getConstantStep();
  if (!step)
    return;
  Value position = loop.getInductionVar();
  Ahead plan;
  plan.rows = step->getSExtValue();
  auto startsHere = [&](OperandRange indices, int64_t dim) {
    return dim >= 0 && indices[dim] == position;
  };
  // Where a branch decides what is stored, the first is the common one.
  SmallVector<StoreOp> stores(loop.getOps<StoreOp>());
  for (scf::IfOp branch : loop.getOps<scf::IfOp>())
    llvm::append_range(stores, branch.thenBlock()->getOps<StoreOp>());
  for (StoreOp store : stores)
    if (startsHere(store.getIndices(), store.getRowDim()))
      addWindow(plan, store.getMemref(), store.getTile().getType(), store.getIndices(),
                store.getRowDim(), plan.rows, /*written=*/true);
  for (LoadOp load : loop.getOps<LoadOp>()) {
    TileType type = load.getResult().getType();
    if (load.getTransposed())
      type = TileType::get(type.getContext(), type.getColumns(), type.getRows(),
                           type.getElementType());
    if (startsHere(load.getIndices(), load.getRowDim()))
      addWindow(plan, load.getMemref(), type, load.getIndices(), load.getRowDim(), plan.rows,
                /*written=*/false);
  }
  if (plan.windows.empty())
    return; // what an outer loop fetches goes on
  plan.block = loop.getBody();
  for (auto inner : loop.getOps<scf::ForOp>()) {
    bool fits =
        llvm::any_of(inner.getOps<DotOp>(), [&](DotOp dot) { return isTall(dot, plan.rows); });
    if (!fits || !inner.getOps<LoadOp>().empty() || !inner.getConstantStep())
      continue;
    plan.loop = inner;
    plan.block = inner.getBody();
    int64_t step = inner.getConstantStep()->getSExtValue();
    for (ReadOp read : inner.getOps<ReadOp>())
      plan.trips = std::max(plan.trips, read.getBuffer().getType().getRows() / step);
    break;
  }
  for (DotOp dot : plan.block->getOps<DotOp>()) {
    bool joins = fusion.isDeferred(dot.getResult()) && isa<DotOp>(*dot->user_begin());
    plan.nests += isTall(dot, plan.rows) && !joins;
  }
  for (AccumulateOp accumulate : plan.block->getOps<AccumulateOp>())
    plan.nests += accumulate.getRhs().getType().getColumns() > 1;
  fetch = plan;
}

void KernelLowering::takeWindows(Operation *op, const TileShape &shape, int64_t rows,
                                 int64_t columns) {
  fetching = Fetching();
  if (fetch.windows.empty() || op->getBlock() != fetch.block)
    return;
  // The nests that are left share what is left.
  size_t count = llvm::divideCeil(fetch.windows.size(), std::max<int64_t>(fetch.nests, 1));
  --fetch.nests;
  fetching.windows.assign(fetch.windows.begin(), fetch.windows.begin() + count);
  fetch.windows.erase(fetch.windows.begin(), fetch.windows.begin() + count);
  fetching.shape = shape;
  fetching.tilesPerColumn = llvm::divideCeil(rows, shape.rows);
  fetching.tiles = fetching.tilesPerColumn * llvm::divideCeil(columns, shape.vectors * e.width());
}

void KernelLowering::takeWindows(Value root, ArrayRef<DotOp> dots, const TileShape &shape) {
  fetching = Fetching();
  auto type = cast<TileType>(root.getType());
  if (llvm::any_of(dots, [&](DotOp dot) { return isTall(dot, fetch.rows); }))
    takeWindows(root.getDefiningOp(), shape, type.getRows(), type.getColumns());
}

//===----------------------------------------------------------------------===//
// Fetching
//===----------------------------------------------------------------------===//

/// `count` of the lines of a block, numbered row by row.
void KernelLowering::fetchLines(const AheadWindow &window, Offset first, int64_t count) {
  int64_t perRow = window.linesPerRow();
  // Lines of one row, where they are known to be, have one address and displacements.
  int64_t together = perRow % count == 0 ? count : 1;
  for (int64_t i = 0; i < count; i += together) {
    Offset line = e.add(first, i);
    Offset row = e.div(line, perRow);
    Offset column = e.sub(line, e.mul(row, perRow));
    Offset place = e.add(window.start, e.mul(row, window.rowStride));
    place = e.add(place, e.mul(column, window.lineElements()));
    Value address = e.pointer(window.base, place, window.element);
    for (int64_t l = 0; l < together; ++l)
      e.prefetch(e.pointer(address, l * window.lineElements(), window.element), window.written);
  }
}

// A nest deals the lines to its register tiles in turn, and the trips of an inner loop go on
// where the trip before ended.
void KernelLowering::beginFetch(const RegisterTile &tile) {
  if (fetching.windows.empty())
    return;
  const TileShape &shape = fetching.shape;
  Offset number =
      e.add(e.div(tile.row, shape.rows),
            e.mul(e.div(tile.column, shape.vectors * e.width()), fetching.tilesPerColumn));
  if (fetch.loop) {
    Offset done = e.sub(scalar(fetch.loop.getInductionVar()), scalar(fetch.loop.getLowerBound()));
    Offset trip = e.div(done, fetch.loop.getConstantStep()->getSExtValue());
    number = e.add(number, e.mul(trip, fetching.tiles));
  }
  fetching.tile = number;
  fetching.pending = true;
}

int64_t KernelLowering::linesPerTile(const AheadWindow &window) {
  return llvm::divideCeil(fetch.rows * window.linesPerRow(), fetching.tiles * fetch.trips);
}

/// The tile's first line of a window. Where there are more tiles than lines, the last ones
/// fetch the last lines again.
Offset KernelLowering::firstLine(const AheadWindow &window) {
  int64_t each = linesPerTile(window), lines = fetch.rows * window.linesPerRow();
  Offset first = e.mul(fetching.tile, each);
  return each * fetching.tiles * fetch.trips > lines ? e.min(first, lines - each) : first;
}

/// What a product's loop of `iterations` iterations fetches for its register tile: a line an
/// iteration and stream, so that few lines are on their way at any time. A stream goes down one
/// column of lines: one addition takes it to the next row. A few lines are fetched at once, before
/// the loop.
SmallVector<FetchStream> KernelLowering::beginStreams(int64_t iterations) {
  SmallVector<FetchStream> streams;
  if (!std::exchange(fetching.pending, false))
    return streams;
  constexpr int64_t few = 4, mostStreams = 4;
  for (const AheadWindow &window : fetching.windows) {
    if (iterations == 0 || linesPerTile(window) <= few) {
      fetchLines(window, firstLine(window), linesPerTile(window));
      continue;
    }
    int64_t length = std::min(iterations, fetch.rows),
            perColumn = llvm::divideCeil(fetch.rows, length);
    int64_t pieces = perColumn * window.linesPerRow(), tiles = fetching.tiles * fetch.trips;
    int64_t each = std::min(mostStreams, int64_t(llvm::divideCeil(pieces, tiles)));
    Offset first = e.mul(fetching.tile, each);
    if (each * tiles > pieces)
      first = e.min(first, pieces - each);
    for (int64_t i = 0; i < each; ++i) {
      Offset piece = e.add(first, i), column = e.div(piece, perColumn);
      Offset row = e.mul(e.sub(piece, e.mul(column, perColumn)), length);
      Offset place = e.add(window.start, e.mul(row, window.rowStride));
      place = e.add(place, e.mul(column, window.lineElements()));
      streams.push_back({e.pointer(window.base, place, window.element), window.rowStride,
                         window.element, window.written});
    }
  }
  return streams;
}

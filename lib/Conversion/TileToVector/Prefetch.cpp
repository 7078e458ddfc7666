//===- Prefetch.cpp - rows of tensors, before they are needed -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A nest fetches the windows that are dealt to it (AnnotatePrefetch.cpp), a line with each
// iteration of its loops.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "lib/TileAnalysis/LoopSteps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// What is fetched, and where
//===----------------------------------------------------------------------===//

/// Computes an index of the body at its start, where the ops that it is computed by are lowered
/// before their turn.
Offset KernelLowering::indexAtStart(Value index, scf::ForOp loop) {
  Operation *op = index.getDefiningOp();
  if (op && op->getBlock() == loop.getBody()) {
    for (Value operand : op->getOperands())
      indexAtStart(operand, loop);
    (void)lowerScalar(*op); // fails in its turn
  }
  return scalar(index);
}

void KernelLowering::addWindow(scf::ForOp loop, Value memref, TileType type, OperandRange indices,
                               int64_t rowDim, NestAttr nest, bool written) {
  auto found = tensors.find(memref);
  if (found == tensors.end())
    return; // an error where it is lowered
  const Tensor &tensor = found->second;
  PrefetchWindow window{tensor.base,       tensor.element, 0, tensor.strides[rowDim],
                        type.getColumns(), written};
  for (auto [index, stride] : llvm::zip(indices, tensor.strides))
    window.start = e.add(window.start, e.mul(indexAtStart(index, loop), stride));
  int64_t step = stepPerIteration(indices[rowDim], loop);
  window.start = e.add(window.start, e.mul(window.rowStride, step));
  fetch.windows[nest].push_back(window);
}

// The starts of the windows are computed here, before the body.
void KernelLowering::beginPrefetch(scf::ForOp loop) {
  SmallVector<StoreOp> stores(loop.getOps<StoreOp>());
  for (scf::IfOp branch : loop.getOps<scf::IfOp>())
    llvm::append_range(stores, branch.thenBlock()->getOps<StoreOp>());
  auto isFetched = [](auto access) { return bool(prefetcherOf(access)); };
  if (llvm::none_of(stores, isFetched) && llvm::none_of(loop.getOps<LoadOp>(), isFetched))
    return; // what an outer loop fetches goes on
  fetch = PrefetchPlan();
  fetch.rows = loop.getConstantStep()->getSExtValue();
  fetch.block = loop.getBody();
  for (StoreOp store : llvm::make_filter_range(stores, isFetched))
    addWindow(loop, store.getMemref(), store.getTile().getType(), store.getIndices(),
              store.getRowDim(), prefetcherOf(store), /*written=*/true);
  for (LoadOp load : llvm::make_filter_range(loop.getOps<LoadOp>(), isFetched)) {
    TileType type = load.getResult().getType();
    if (load.getTransposed())
      type = TileType::get(type.getContext(), type.getColumns(), type.getRows(),
                           type.getElementType());
    addWindow(loop, load.getMemref(), type, load.getIndices(), load.getRowDim(), prefetcherOf(load),
              /*written=*/false);
  }
}

void KernelLowering::takeWindows(Operation *op, const TileShape &shape, int64_t rows,
                                 int64_t columns) {
  fetching = PrefetchCursor();
  NestAttr nest = nestOf(op);
  if (!nest)
    return;
  fetching.windows = fetch.windows.lookup(nest);
  fetching.iterations = nest.getIterations();
  if (op->getBlock() != fetch.block)
    fetching.loop = cast<scf::ForOp>(op->getParentOp());
  fetching.shape = shape;
  fetching.tilesPerColumn = llvm::divideCeil(rows, shape.rows);
  fetching.tiles = fetching.tilesPerColumn * llvm::divideCeil(columns, shape.vectors * e.width());
}

//===----------------------------------------------------------------------===//
// Fetching
//===----------------------------------------------------------------------===//

/// `count` of the lines of a block, numbered row by row.
void KernelLowering::fetchLines(const PrefetchWindow &window, Offset first, int64_t count) {
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

// A nest deals the lines to its register tiles in turn, and the iterations of an inner loop go on
// where the one before ended.
void KernelLowering::beginFetch(const RegisterTile &tile) {
  if (fetching.windows.empty())
    return;
  const TileShape &shape = fetching.shape;
  // Of the two narrow tiles behind tiles of three vectors the second begins after two.
  Offset column = e.add(tile.column, shape.vectors == 3 ? e.width() : 0);
  Offset number = e.add(e.div(tile.row, shape.rows),
                        e.mul(e.div(column, shape.vectors * e.width()), fetching.tilesPerColumn));
  if (fetching.loop) {
    Offset done =
        e.sub(scalar(fetching.loop.getInductionVar()), scalar(fetching.loop.getLowerBound()));
    Offset iteration = e.div(done, fetching.loop.getConstantStep()->getSExtValue());
    number = e.add(number, e.mul(iteration, fetching.tiles));
  }
  fetching.tile = number;
  fetching.pending = true;
}

int64_t KernelLowering::linesPerTile(const PrefetchWindow &window) {
  return llvm::divideCeil(fetch.rows * window.linesPerRow(), fetching.tiles * fetching.iterations);
}

/// The tile's first line of a window. Where there are more tiles than lines, the last ones
/// fetch the last lines again.
Offset KernelLowering::firstLine(const PrefetchWindow &window) {
  int64_t each = linesPerTile(window), lines = fetch.rows * window.linesPerRow();
  Offset first = e.mul(fetching.tile, each);
  return each * fetching.tiles * fetching.iterations > lines ? e.min(first, lines - each) : first;
}

/// What a product's loop of `iterations` iterations fetches for its register tile: a line an
/// iteration and stream, so that few lines are on their way at any time. A stream goes down one
/// column of lines: one addition takes it to the next row. A few lines are fetched at once, before
/// the loop.
SmallVector<FetchStream> KernelLowering::beginStreams(int64_t iterations) {
  SmallVector<FetchStream> streams;
  if (!std::exchange(fetching.pending, false))
    return streams;
  // Tiles of three vectors are fewer than pairs would be, and bring half as many lines more.
  int64_t few = fetching.shape.vectors == 3 ? 6 : 4;
  constexpr int64_t mostStreams = 4;
  for (const PrefetchWindow &window : fetching.windows) {
    if (iterations == 0 || linesPerTile(window) <= few) {
      fetchLines(window, firstLine(window), linesPerTile(window));
      continue;
    }
    int64_t length = std::min(iterations, fetch.rows),
            perColumn = llvm::divideCeil(fetch.rows, length);
    int64_t pieces = perColumn * window.linesPerRow(), tiles = fetching.tiles * fetching.iterations;
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

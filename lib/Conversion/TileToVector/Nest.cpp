//===- Nest.cpp - loops over register tiles -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

/// Whether all of B stays in L1 next to what streams through: then rows of A and of the result
/// are best taken once, with all columns.
bool KernelLowering::fitsL1(TileType rhs) {
  int64_t bytes = rhs.getRows() * e.padded(rhs.getColumns()) *
                  (rhs.getElementType().getIntOrFloatBitWidth() / 8);
  return bytes <= e.machine.l1Bytes / 2;
}

/// All of what is computed before the programs: they need different parts of it.
TileExtent KernelLowering::extentOf(Value value) {
  auto type = cast<TileType>(value.getType());
  TileExtent extent{type.getRows(), type.getColumns()};
  if (hoisted.contains(value.getDefiningOp()))
    return extent;
  TilePart part = needed.of(value);
  auto limit = [&](Offset &end, Value index) {
    if (index)
      end = e.min(e.max(scalar(index), 0), end);
  };
  limit(extent.endRow, part.rows);
  limit(extent.endColumn, part.columns);
  if (part.columns)
    extent.isShort = !isa<scf::ForOp>(part.columns.getParentRegion()->getParentOp());
  return extent;
}

/// Rows [from, to) by `step` as long as they begin before `end`, what is left by smaller powers of
/// two. `from` is a multiple of `step`.
void KernelLowering::forEachRow(Offset from, int64_t to, Offset end, int64_t step,
                                function_ref<void(Offset, int64_t)> body) {
  int64_t whole = to / step * step;
  if (whole)
    e.loop(from, e.min(whole, end), step, [&](Offset row) { body(row, step); });
  // Where `from` is beyond the whole steps it is known to be.
  int64_t row = from.isStatic() ? std::max(whole, from.constant) : whole;
  for (int64_t rows = step / 2; rows >= 1; rows /= 2) {
    if (row + rows > to)
      continue;
    body(row, rows);
    row += rows;
  }
}

void KernelLowering::forEachTile(const TileExtent &extent, TileShape shape, bool partialLastVector,
                                 TileBody body) {
  int64_t columns = extent.columns;
  int64_t vectors = partialLastVector ? columns / e.width() : e.vectors(columns);
  int64_t whole = shape.wholeVectors(vectors), narrowVectors = shape.narrowVectors(vectors);
  auto forEachRowOfTiles = [&](function_ref<void(Offset, int64_t)> inner) {
    forEachRow(0, extent.rows, extent.endRow, shape.rows, inner);
  };
  auto forEachColumnOfTiles = [&](function_ref<void(Offset, int64_t, int64_t)> inner) {
    int64_t block = shape.vectors * e.width();
    Offset end = e.min(whole * e.width(), extent.endColumn), narrow = end;
    // Vectors one by one where the end is within a tile.
    if (extent.isShort && shape.vectors > 1)
      narrow = e.mul(e.div(end, block), block);
    if (whole) {
      e.loop(0, narrow, block, [&](Offset column) { inner(column, shape.vectors, 0); });
      e.loop(narrow, end, e.width(), [&](Offset column) { inner(column, 1, 0); });
    }
    e.loop(whole * e.width(), vectors * e.width(), narrowVectors * e.width(),
           [&](Offset column) { inner(column, narrowVectors, 0); });
    if (int64_t rest = partialLastVector ? columns % e.width() : 0)
      inner(columns - rest, 1, rest);
  };
  auto emit = [&](Offset row, int64_t height, Offset column, int64_t count, int64_t lastLanes) {
    body({row, column, height, count, /*columnAsRow=*/false, lastLanes});
  };
  if (shape.rowsOutside)
    forEachRowOfTiles([&](Offset row, int64_t height) {
      forEachColumnOfTiles([&](Offset column, int64_t count, int64_t lastLanes) {
        emit(row, height, column, count, lastLanes);
      });
    });
  else
    forEachColumnOfTiles([&](Offset column, int64_t count, int64_t lastLanes) {
      forEachRowOfTiles(
          [&](Offset row, int64_t height) { emit(row, height, column, count, lastLanes); });
    });
}

/// Tiles of as many accumulators, at most two vectors wide.
TileShape KernelLowering::triangleShape(const TileShape &shape) {
  int64_t vectors = std::min<int64_t>(shape.vectors, 2);
  return {std::min(shape.rows * (shape.vectors / vectors), e.width()), vectors};
}

// Tiles one vector wide on the diagonal, whole tiles below it, nothing above.
void KernelLowering::forEachLowerTile(const TileExtent &extent, TileShape shape, TileBody body) {
  int64_t width = e.width(), size = extent.rows;
  // Rows before the end have no columns behind it.
  Offset end = extent.endRow;
  auto emit = [&](Offset row, Offset column, int64_t rows, int64_t vectors, int64_t below) {
    body({row, column, rows, vectors, /*columnAsRow=*/false, /*lastLanes=*/0, below});
  };
  if (shape.rows == 1) { // Nothing to share between rows.
    e.loop(0, end, 1, [&](Offset row) {
      e.loop(0, e.add(row, 1), width, [&](Offset column) { emit(row, column, 1, 1, 0); });
    });
    return;
  }
  int64_t vectors = shape.vectors, rows = shape.rows, block = vectors * width;
  int64_t diagonalRows = std::min(rows * vectors, width);
  int64_t whole = size / block * block;
  e.loop(0, e.min(whole, end), block, [&](Offset column) {
    Offset below = e.add(column, width);
    e.loop(column, below, diagonalRows, [&](Offset row) { emit(row, column, diagonalRows, 1, 0); });
    forEachRow(below, size, end, rows,
               [&](Offset row, int64_t height) { emit(row, column, height, vectors, 1); });
  });
  if (size > whole)
    forEachRow(whole, size, end, rows, [&](Offset row, int64_t height) {
      emit(row, whole, height, e.vectors(size - whole), 0);
    });
}

// Register tiles above the diagonal: whole ones down to it, then those one vector wide.
void KernelLowering::forEachUpperTile(const TileExtent &extent, TileShape shape, TileBody body) {
  int64_t width = e.width(), size = extent.rows;
  auto emit = [&](Offset row, Offset column, int64_t rows, int64_t vectors, int64_t above) {
    body({row, column, rows, vectors, /*columnAsRow=*/false, /*lastLanes=*/0, /*below=*/0, above});
  };
  if (shape.rows == 1) { // Nothing to share between rows.
    e.loop(0, extent.endRow, 1, [&](Offset row) {
      Offset first = e.mul(e.div(row, width), width);
      e.loop(first, extent.endColumn, width, [&](Offset column) { emit(row, column, 1, 1, 0); });
    });
    return;
  }
  int64_t vectors = shape.vectors, rows = shape.rows, block = vectors * width;
  int64_t diagonalRows = std::min(rows * vectors, width);
  int64_t whole = size / block * block;
  e.loop(0, e.min(whole, extent.endColumn), block, [&](Offset column) {
    Offset last = e.add(column, block - width), end = e.add(column, block);
    e.loop(0, last, rows, [&](Offset row) { emit(row, column, rows, vectors, 1); });
    e.loop(last, end, diagonalRows, [&](Offset row) { emit(row, last, diagonalRows, 1, 0); });
  });
  if (size > whole)
    forEachRow(0, size, extent.endRow, rows, [&](Offset row, int64_t height) {
      emit(row, whole, height, e.vectors(size - whole), 0);
    });
}

TileShape KernelLowering::chooseShape(ArrayRef<DotOp> dots, int64_t rows, int64_t vectors) {
  if (dots.empty())
    return {1, std::min<int64_t>(vectors, 4)};
  int64_t depth = 0;
  llvm::SmallDenseSet<Value> rightOperands;
  for (DotOp dot : dots) {
    depth = std::max(depth, dot.getRhs().getType().getRows());
    rightOperands.insert(dot.getRhs());
  }
  ProductGroup group{int64_t(dots.size()), int64_t(rightOperands.size())};
  // Products of one element are of one kind.
  return microKernelOf(dots.front()).chooseShape(e.machine, group, depth, rows, vectors);
}

/// Register tiles of `value`. `fewestRows` is one, or two for tiles with an even number of rows.
void KernelLowering::forEachTileOf(Value value, bool partialLastVector, TileBody body,
                                   int64_t fewestRows) {
  auto type = cast<TileType>(value.getType());
  TileExtent extent = extentOf(value);
  SmallVector<DotOp> dots = fusion.productsOf(value);
  if (isColumnVector(type)) {
    TileShape shape = chooseShape(dots, 1, e.vectors(type.getRows()));
    forEachTile(extent.transposed(), shape, /*partialLastVector=*/true, [&](RegisterTile tile) {
      tile.columnAsRow = true;
      body(tile);
    });
    return;
  }
  // Element-wise nests share nothing between vectors, so that where the end is within a tile one
  // loop over single vectors serves: a second one over tiles of them would be most of the code.
  int64_t vectors = extent.isShort && dots.empty() ? 1 : e.vectors(type.getColumns());
  TileShape shape = chooseShape(dots, type.getRows(), vectors);
  shape.rows = std::max(shape.rows, fewestRows);
  shape.rowsOutside = llvm::all_of(dots, [&](DotOp dot) { return fitsL1(dot.getRhs().getType()); });
  bool square = type.getRows() == type.getColumns() && type.getRows() > 1;
  Triangle triangle = partialLastVector || !square ? Triangle::None : fusion.triangleOf(value);
  if (triangle != Triangle::None) {
    // Without products there is nothing to share between rows.
    if (!dots.empty())
      shape = triangleShape(shape);
    return triangle == Triangle::Lower ? forEachLowerTile(extent, shape, body)
                                       : forEachUpperTile(extent, shape, body);
  }
  takeWindows(value.getDefiningOp(), shape, type.getRows(), type.getColumns());
  forEachTile(extent, shape, partialLastVector, [&](RegisterTile tile) {
    beginFetch(tile);
    body(tile);
  });
}

void KernelLowering::storeTile(const TileMemory &destination, const RegisterTile &tile,
                               const Vectors &values) {
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Offset column = e.add(tile.column, v * e.width());
      Offset offset = tile.columnAsRow ? address(destination, column, 0)
                                       : address(destination, e.add(tile.row, r), column);
      bool partial = tile.lastLanes && v == tile.vectors - 1;
      e.storeLanes(values[r * tile.vectors + v], partial ? tile.lastLanes : e.width(),
                   destination.base, offset);
    }
}

void KernelLowering::computeHere(Value value, const TileMemory &destination) {
  auto dot = value.getDefiningOp<DotOp>();
  if (dot && isColumnVector(dot.getResult().getType()) && !dot.getLhsTransposed()) {
    TileType lhs = dot.getLhs().getType();
    std::optional<Offset> bound;
    if (dot.getBound())
      bound = scalar(dot.getBound());
    if (dot.getAcc())
      compute(dot.getAcc(), destination);
    else
      e.loop(0, destination.rows, 1, [&](Offset row) {
        e.store(e.constant(e.getF32FloatAttr(0)), destination.base, address(destination, row, 0));
      });
    return addColumnProduct(storageOf(dot.getLhs()), storageOf(dot.getRhs()), lhs.getColumns(),
                            bound, dot.getLhsTriangle(), destination, extentOf(value).endRow);
  }
  // A single element may be stored to a column, among others.
  auto type = cast<TileType>(value.getType());
  bool partialLastVector = type.getRows() == 1 && type.getColumns() == 1;
  forEachTileOf(value, partialLastVector, [&](RegisterTile tile) {
    storeTile(destination, tile, evaluateTile(value, tile));
  });
}

void KernelLowering::compute(Value value, const TileMemory &destination) {
  if (fusion.isDeferred(value))
    return computeHere(value, destination);
  TileMemory source = storageOf(value);
  source.rows = destination.rows;
  source.columns = destination.columns;
  copy(source, destination);
}

void KernelLowering::copy(const TileMemory &source, const TileMemory &destination) {
  if (destination.columns == 1 && destination.rows > 1) {
    if (isDenseColumn(source) && isDenseColumn(destination)) {
      forEachTile({1, source.rows}, {1, 1}, /*partialLastVector=*/true, [&](RegisterTile tile) {
        tile.columnAsRow = true;
        storeTile(destination, tile,
                  {e.loadVector(source.element, source.base, address(source, tile.column, 0))});
      });
      return;
    }
    e.loop(0, source.rows, 1, [&](Offset row) {
      e.store(loadElement(source, row, 0), destination.base, address(destination, row, 0));
    });
    return;
  }
  // A single element may stand in a column, among others.
  bool partialLastVector = destination.rows == 1 && destination.columns == 1;
  forEachTile({source.rows, source.columns}, {1, partialLastVector ? 1 : 4}, partialLastVector,
              [&](RegisterTile tile) {
                Vectors values;
                for (int64_t v = 0; v < tile.vectors; ++v)
                  values.push_back(
                      e.loadVector(source.element, source.base,
                                   address(source, tile.row, e.add(tile.column, v * e.width()))));
                storeTile(destination, tile, values);
              });
}

//===- Product.h - what is multiplied, and where it lies --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_PRODUCT_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_PRODUCT_H

#include "Emitter.h"
#include "dialects/Tile/Tile.h"
#include <optional>

namespace polyattn::tile_to_vector {

class MicroKernel;

/// Where a tile lies in memory, and how. Rows are `rowStride` elements apart, which is a number but
/// in a tensor; or, for the left operand of transposed products, columns are cut into panels of
/// `panelWidth`, each contiguous. Elements of 16 bits lie in words, two in each (`MemoryShape`).
struct TileMemory {
  mlir::Value base;
  Offset offset;
  int64_t rows = 0, columns = 0;
  Offset rowStride;
  int64_t panelWidth = 0;
  int64_t panelRows = 0;
  mlir::Type element;
};

/// Whether the elements of a column lie side by side.
inline bool isDenseColumn(const TileMemory &column) {
  return column.rowStride.isStatic() && column.rowStride.constant == 1;
}

/// Whether both begin at one place that is known.
inline bool isSameMemory(const TileMemory &a, const TileMemory &b) {
  return a.base == b.base && a.offset.isStatic() && b.offset.isStatic() &&
         a.offset.constant == b.offset.constant;
}

/// The matrix that a tile is in memory. One of 16 bits is a matrix of words of 32 bits: with half
/// the rows where pairs of rows lie side by side, otherwise with half the columns.
struct MemoryShape {
  int64_t rows, columns;
  mlir::Type element;
  /// How many elements of the tile, below each other or side by side, one of memory has.
  int64_t rowsPerWord = 1, columnsPerWord = 1;

  static MemoryShape of(tile::TileType type);
};

/// The offset of an element from the storage's base.
Offset address(Emitter &e, const TileMemory &storage, Offset row, Offset column);

/// The part of a result that one micro-kernel computes: `rows` rows of `vectors` vectors. A column
/// vector is computed `columnAsRow`, as if it were a row.
struct RegisterTile {
  Offset row, column;
  int64_t rows = 1, vectors = 1;
  bool columnAsRow = false;
  /// Lanes of the last vector that belong to the result, where the others must not be written.
  int64_t lastLanes = 0;
  /// Leading vectors that lie at or below the diagonal entirely.
  int64_t vectorsBelowDiagonal = 0;
  /// Last vectors that lie at or above the diagonal entirely.
  int64_t vectorsAboveDiagonal = 0;
  size_t size() const { return rows * vectors; }
};

/// Rows and vectors of the register tiles of a nest.
struct TileShape {
  int64_t rows, vectors;
  /// Whether all columns of a row of tiles come before the next rows.
  bool rowsOutside = false;

  /// The leading vectors of a result that are cut into tiles as wide as this. Behind tiles of three
  /// there are none, two or four vectors, unless there is only one: a tile of one has few sums.
  int64_t wholeVectors(int64_t all) const {
    int64_t whole = all / vectors * vectors;
    return vectors == 3 && all - whole == 1 && whole > 0 ? whole - vectors : whole;
  }
  /// The vectors of a tile of those behind.
  int64_t narrowVectors(int64_t all) const {
    return vectors == 3 ? std::min<int64_t>(2, all) : all - wholeVectors(all);
  }
};

/// A product as micro-kernels see it.
struct Product {
  const MicroKernel *kernel;
  TileMemory lhs, rhs;
  bool lhsTransposed = false;
  tile::Triangle lhsTriangle = tile::Triangle::None;
  int64_t depth = 0;
  std::optional<Offset> bound;
};

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_PRODUCT_H

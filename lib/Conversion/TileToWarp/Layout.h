//===- Layout.h - where tiles lie, and which elements a thread has -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_LAYOUT_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_LAYOUT_H

#include "ThreadLayout.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace polyattn::tile_to_warp {

/// Where a CTA has something: its shared memory, its part of the workspace, or a tensor.
enum class Space { Shared, Workspace, Tensor };

/// The memory of a tile or buffer: rows of `pitch` elements, or columns where `columnMajor`.
struct TileMemory {
  Space space = Space::Shared;
  int64_t offset = 0; // bytes
  /// What this iteration of a loop adds to the offset: i32, null for nothing.
  mlir::Value shift;
  int64_t bytes = 0;
  /// With padding: multiples of 16, but for vectors in the dimension of size 1.
  int64_t rows = 0, columns = 0;
  int64_t pitch = 0;
  bool columnMajor = false;
  mlir::Type element;

  /// The layout of a tile in memory, whatever its offset.
  static TileMemory of(int64_t rows, int64_t columns, mlir::Type element, bool columnMajor);
  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  bool isVector() const { return rows == 1 || columns == 1; }
};

/// Two adjacent buffers in shared memory of `bytes` each, which a loop swaps after each iteration:
/// one is read while the other is filled.
struct DoubleBuffer {
  int64_t offset = 0, bytes = 0;

  int64_t end() const { return offset + 2 * bytes; }
};

/// Coordinates along one dimension: `base` (i32, zero where null) plus each offset.
struct Coordinates {
  mlir::Value base;
  llvm::SmallVector<int64_t> offsets = {0};
  /// So many offsets from each multiple of `run` on are consecutive, and base + offset is then a
  /// multiple of `run`.
  int64_t run = 1;

  int64_t size() const { return offsets.size(); }
};

/// The part of a tile that the accumulators of one warp hold: 16 x 8 fragments, `rowTiles` x
/// `columnTiles` of them.
struct WarpTile {
  mlir::Value row, column; // i32, of the first element; the same in all lanes
  int64_t rowTiles = 0, columnTiles = 0;
  /// How many warps have these rows, each all of its columns at once, and this one's number: i32.
  /// 1 and null where that is not known.
  int64_t sharers = 1;
  mlir::Value sharer;

  int64_t registers() const { return rowTiles * columnTiles * 4; }
  /// Into how many parts such warps cut what they would compute alike for each row.
  int64_t shares() const { return rowTiles % sharers ? 1 : sharers; }
};

/// The elements of a tile that a thread owns: all pairs of a row and a column, row by row.
struct ThreadElements {
  Coordinates rows, columns;
  /// Set where these are accumulators of a product.
  std::optional<WarpTile> warpTile;
  /// Which thread has which element; none if that is not known.
  std::optional<ThreadLayout> layout;
  /// Some warps have no elements of their own and compute those of another warp again.
  bool isMirrored = false;

  int64_t size() const { return rows.size() * columns.size(); }
  /// The thread's elements of one row.
  ThreadElements row(int64_t r) const {
    ThreadElements result = *this;
    result.rows.offsets = {rows.offsets[r]};
    result.rows.run = 1;
    return result;
  }
  ThreadElements transposed() const {
    ThreadElements result;
    result.rows = columns;
    result.columns = rows;
    return result;
  }
};

/// What a warp reads from shared memory for 16 terms of `lhsCount` products with one right factor,
/// in wavefronts: an ldmatrix brings 16 rows of a left factor, or 16 columns of the right one.
inline int64_t fragmentWavefronts(int64_t rowTiles, int64_t columnTiles, int64_t lhsCount = 1) {
  return 4 * rowTiles * lhsCount + 4 * ((columnTiles + 1) / 2);
}

/// How the warps of a CTA share an M x N result.
struct WarpLayout {
  int64_t rowWarps, columnWarps; // their product is at most the number of warps
  int64_t rowTiles, columnTiles; // of each warp, 16 rows and 8 columns each

  /// All warps where possible, with as little to read as possible. `lhsCount` results are computed
  /// at once, of as many left factors.
  static WarpLayout of(int64_t rows, int64_t columns, int64_t warps, int64_t lhsCount = 1);
  /// Each warp has 16 whole rows: of `16 * warps`.
  static WarpLayout ofWholeRows(int64_t columns, int64_t warps) {
    return {warps, 1, 1, (columns + 15) / 16 * 2};
  }
  int64_t registers() const { return rowTiles * columnTiles * 4; }
};

inline int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_LAYOUT_H

//===- Layout.cpp - how warps share a result ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

using namespace polyattn;
using namespace polyattn::tile_to_warp;

TileMemory TileMemory::of(int64_t rows, int64_t columns, mlir::Type element, bool columnMajor) {
  TileMemory storage;
  storage.element = element;
  storage.columnMajor = columnMajor;
  // Fragments are read whole.
  storage.rows = rows == 1 ? 1 : roundUp(rows, 16);
  storage.columns = columns == 1 ? 1 : roundUp(columns, 16);
  int64_t along = columnMajor ? storage.rows : storage.columns;
  int64_t lines = columnMajor ? storage.columns : storage.rows;
  // 16 bytes between lines put the rows that ldmatrix reads together into different banks, as 32
  // do for the accumulators of f32: eight elements of either.
  storage.pitch = along + (storage.isVector() ? 0 : 8);
  storage.bytes = lines * storage.pitch * storage.elementBytes();
  return storage;
}

WarpLayout WarpLayout::of(int64_t rows, int64_t columns, int64_t warps, int64_t lhsCount) {
  int64_t rowTiles = roundUp(rows, 16) / 16, columnTiles = roundUp(columns, 16) / 8;
  std::optional<WarpLayout> best;
  auto rank = [&](const WarpLayout &layout) {
    return std::pair(-layout.rowWarps * layout.columnWarps,
                     fragmentWavefronts(layout.rowTiles, layout.columnTiles, lhsCount));
  };
  // Rows first: a warp that has whole rows reads each fragment of A once.
  for (int64_t rowWarps = warps; rowWarps; rowWarps /= 2) {
    if (rowTiles % rowWarps)
      continue;
    int64_t columnWarps = warps / rowWarps;
    while (columnTiles % columnWarps)
      columnWarps /= 2;
    WarpLayout layout{rowWarps, columnWarps, rowTiles / rowWarps, columnTiles / columnWarps};
    if (!best || rank(layout) < rank(*best))
      best = layout;
  }
  return *best;
}

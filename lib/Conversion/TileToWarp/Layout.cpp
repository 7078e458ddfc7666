//===- Layout.cpp - how warps share a result ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

using namespace polyattn;
using namespace polyattn::tile_to_warp;

// Rows first: a warp that has whole rows reads each fragment of A once.
WarpGrid WarpGrid::of(int64_t rows, int64_t columns, int64_t warps) {
  int64_t rowTiles = roundUp(rows, 16) / 16, columnTiles = roundUp(columns, 16) / 8;
  int64_t rowWarps = warps;
  while (rowTiles % rowWarps)
    rowWarps /= 2;
  int64_t columnWarps = warps / rowWarps;
  while (columnTiles % columnWarps)
    columnWarps /= 2;
  return {rowWarps, columnWarps, rowTiles / rowWarps, columnTiles / columnWarps};
}

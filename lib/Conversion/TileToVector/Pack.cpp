//===- Pack.cpp - tiles of f32 become words of two bf16 -------------------===//
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

/// Each register tile of the source is stored in all layouts at once: a deferred source is in
/// registers only.
void KernelLowering::lowerPack(PackOp pack) {
  bool isUsed = false, hasPairs = false;
  for (Value result : pack.getPacked()) {
    allocateFor(result);
    isUsed |= !result.use_empty();
    hasPairs |= cast<TileType>(result.getType()).getLayout() == Layout::RowPairs;
  }
  if (!isUsed)
    return;
  Value source = pack.getSource();
  auto packTile = [&](const RegisterTile &tile) {
    storePacked(pack, tile, inputTile(source, tile));
  };
  if (fusion.isDeferred(source))
    return forEachTileOf(source, /*partialLastVector=*/false, packTile, hasPairs ? 2 : 1);
  TileType type = pack.getSource().getType();
  int64_t vectors = std::min<int64_t>(e.vectors(type.getColumns()), 4);
  forEachTile(extentOf(source), {hasPairs ? 2 : 1, vectors}, /*partialLastVector=*/false, packTile);
}

/// Stores one register tile in each layout.
void KernelLowering::storePacked(PackOp pack, const RegisterTile &tile, const Vectors &values) {
  auto at = [&](int64_t row, int64_t vector) { return values[row * tile.vectors + vector]; };
  for (Value result : pack.getPacked()) {
    TileMemory words = storageOf(result);
    auto place = [&](Offset row, Offset column) { return address(words, row, column); };
    if (cast<TileType>(result.getType()).getLayout() == Layout::RowPairs) {
      Offset first = e.div(tile.row, 2);
      for (int64_t r = 0; r + 1 < tile.rows; r += 2)
        for (int64_t v = 0; v < tile.vectors; ++v)
          e.store(e.packBF16(at(r, v), at(r + 1, v), /*alternating=*/true), words.base,
                  place(e.add(first, r / 2), e.add(tile.column, v * e.width())));
      continue;
    }
    Offset first = e.div(tile.column, 2);
    for (int64_t r = 0; r < tile.rows; ++r)
      for (int64_t v = 0; v < tile.vectors; v += 2) {
        bool isLast = v + 1 == tile.vectors;
        Value packed = isLast ? e.packBF16(at(r, v))
                              : e.packBF16(at(r, v), at(r, v + 1), /*alternating=*/false);
        e.store(packed, words.base, place(e.add(tile.row, r), e.add(first, v * e.width() / 2)));
      }
  }
}

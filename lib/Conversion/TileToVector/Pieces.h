//===- Pieces.h - the vectors of a row --------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_PIECES_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_PIECES_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace polyattn::tile_to_vector {

/// A vector of a row: so many columns from `column` on.
struct Piece {
  int64_t column, lanes;
};

/// Columns as whole vectors, and the rest in powers of two: nothing outside the row is touched.
inline llvm::SmallVector<Piece> piecesOf(int64_t columns, int64_t width) {
  llvm::SmallVector<Piece> pieces;
  for (int64_t column = 0, lanes = width; column < columns; lanes /= 2)
    for (; columns - column >= lanes; column += lanes)
      pieces.push_back({column, lanes});
  return pieces;
}

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_PIECES_H

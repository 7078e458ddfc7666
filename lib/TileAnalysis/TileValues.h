//===- TileValues.h - shapes of values in a tile kernel ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_TILEVALUES_H
#define POLYATTN_LIB_TILEANALYSIS_TILEVALUES_H

#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Null for what is no tile.
inline tile::TileType tileType(mlir::Value value) {
  return llvm::dyn_cast<tile::TileType>(value.getType());
}

inline bool sameShape(mlir::Value a, mlir::Value b) {
  return tileType(a).getRows() == tileType(b).getRows() &&
         tileType(a).getColumns() == tileType(b).getColumns();
}

inline bool isVector(mlir::Value value) {
  return tileType(value).getRows() == 1 || tileType(value).getColumns() == 1;
}
/// The dimension of a tensor from row to row of the tile that is loaded, or from column to column;
/// -1 where there is none.
inline int64_t tensorDimOf(tile::LoadOp load, bool alongRows) {
  return alongRows != load.getTransposed() ? load.getRowDim() : load.getColDim();
}
/// Whether two matrices make a third.
inline bool isMatrixProduct(tile::DotOp dot) { return !isVector(dot.getResult()); }
/// Whether an update is the product of two matrices.
inline bool isMatrixProduct(tile::AccumulateOp op) {
  return op.getBuffer().getType().getColumns() > 1;
}

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_TILEVALUES_H

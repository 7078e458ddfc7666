//===- NeededPart.h - which rows and columns of a tile are read -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last block of a sequence, and the only one of a short call, has fewer positions than its
// tiles have rows or columns. Stores leave out what lies past the end, and so do sums over
// positions; going back from these, much of what computes them need not be computed there.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_NEEDEDPART_H
#define POLYATTN_LIB_TILEANALYSIS_NEEDEDPART_H

#include "dialects/Tile/Tile.h"

namespace polyattn {

/// The rows below one index and the columns below another; all of them where that is null.
struct TilePart {
  mlir::Value rows, columns;
};

/// What the ops of a kernel read of its tiles, directly or by way of others.
class NeededParts {
public:
  explicit NeededParts(tile::KernelOp kernel);

  /// Nothing reads more of `tile` than that. The indices are there before the tile is.
  TilePart of(mlir::Value tile) const;

private:
  void visit(mlir::Operation *op);
  void read(mlir::Value tile, TilePart part);
  void readLike(mlir::OperandRange tiles, mlir::Value result);

  llvm::DenseMap<mlir::Value, TilePart> parts; // of tiles that something reads
};

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_NEEDEDPART_H

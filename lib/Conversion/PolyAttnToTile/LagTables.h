//===- LagTables.h - scores by the distance of positions --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_LAGTABLES_H
#define POLYATTN_CONVERSION_LAGTABLES_H

#include "WeightTiles.h"

namespace polyattn {

/// The tables of `relative` ops, each in a buffer that a program fills before its loops: the scores
/// of the table's lags, and before and after them those of lags that it does not have. So a pair of
/// blocks reads its diagonals from one place, wherever the blocks are.
class LagTables {
public:
  /// The diagonals of lags `first`, ..., `first` + `count` - 1, a column. `longest` is the most
  /// that one asks of the table at a time.
  mlir::Value diagonals(TileBuilder &builder, WeightTiles &weights, RelativeOp op, mlir::Value head,
                        mlir::Value first, int64_t count, int64_t longest);

private:
  mlir::Value get(TileBuilder &builder, WeightTiles &weights, RelativeOp op, mlir::Value head,
                  int64_t longest);

  /// By the op and the tile of its table, which is that of a head.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> buffers;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_LAGTABLES_H

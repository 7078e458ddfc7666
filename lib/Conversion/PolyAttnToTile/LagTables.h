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

/// How the numbers of a table lie in a buffer: with rows before and after them for the lags that
/// the table does not have, so that a pair of blocks finds all its diagonals in one place.
struct LagRows {
  LagTable lags;
  int64_t longest; // the most diagonals that are asked for at a time

  /// Those of an attend's blocks.
  static LagRows of(AttendOp attend, const LagTable &lags);
  /// Diagonals that are all beyond the table have these rows, with as many to spare on either side:
  /// code for several elements at a time may look at some that it does not use.
  int64_t margin() const { return 2 * longest; }
  int64_t count() const { return lags.count + 2 * margin(); }
  /// The row of a lag and those after it; where all are beyond the table it does not matter by how
  /// much.
  mlir::Value rowOf(TileBuilder &builder, mlir::Value lag) const;
};

/// The tables of `relative` ops, each in a buffer that a program fills before its loops.
class LagTables {
public:
  /// A buffer with the scores of all lags.
  mlir::Value get(TileBuilder &builder, WeightTiles &weights, RelativeOp op, mlir::Value head,
                  const LagRows &rows);

private:
  /// By the op and the tile of its table, which is that of a head.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> buffers;
};

/// A buffer of zeros, to which pairs add what they have of each lag.
mlir::Value createLagSums(TileBuilder &builder, const LagRows &rows);
/// The gradient of the table, a column, from such sums.
mlir::Value foldLagSums(TileBuilder &builder, WeightTiles &weights, mlir::Value head,
                        mlir::Value sums, const LagRows &rows);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_LAGTABLES_H

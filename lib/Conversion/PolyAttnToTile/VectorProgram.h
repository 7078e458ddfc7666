//===- VectorProgram.h - vectors of one side as tiles -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_VECTORPROGRAM_H
#define POLYATTN_CONVERSION_VECTORPROGRAM_H

#include "WeightTiles.h"

namespace polyattn {

/// The left operand of a product: [width] x [columns] where it is transposed, else
/// [columns] x [width].
struct LhsTile {
  mlir::Value tile;
  bool transposed = true;
};

/// Rows of one side, queries or keys.
struct BlockRows {
  mlir::Value position;      // index: the first one in the tensors of this launch
  mlir::Value rowOfCall;     // index: in those of the entry's call
  mlir::Value firstPosition; // i64: where row 0 of the call is in its sequence; null for 0
  mlir::Value valid;         // index: how many there are
  bool indexTables = false;  // by the place in the sequence, whatever rows the tensors have
  bool ofBatches = false;    // a row is a batch at `position`, and not a position of one
  mlir::Value cachedIn = {}; // index: the row of the pools that has them; null for the call's own
};

/// Computes vectors of one side, queries or keys, for a run of `columns` positions.
/// Every vector is a transposed tile, [width] x [columns], unless it is asked for otherwise.
class VectorProgram {
public:
  /// Dimension 2 of `headTensor` counts the heads, of which `head` is the program's.
  VectorProgram(TileBuilder &builder, WeightTiles &weights, mlir::Value batch, mlir::Value head,
                mlir::Value headTensor, const BlockRows &rowRange, int64_t columns)
      : b(&builder), weights(weights), batch(batch), head(head), headTensor(headTensor),
        rowRange(rowRange), columns(columns) {}

  /// All rows of a vector.
  mlir::Value full(mlir::Value vector);
  /// `count` rows from `first`. Where nobody reads the others, `--tile-fuse-windows` computes these
  /// alone.
  mlir::Value rows(mlir::Value vector, mlir::Value first, int64_t count);
  /// All of a vector in row-major orientation, [columns] x [width].
  mlir::Value rowMajor(mlir::Value vector);
  /// Whether to load or compute the vector once more takes less than to transpose it: an
  /// element-wise function of tensors without functions like exp.
  bool isCheap(mlir::Value vector);
  /// Whether `rowMajor` takes no transposition: the vector is an element-wise function of tensors,
  /// bound vectors, and others whose rows are known, and is not known in columns.
  bool hasRows(mlir::Value vector);
  /// True where `rowMajor` computes the vector from rows of tensors as they lie in memory.
  static bool isRowMajor(mlir::Value vector);
  /// All of a vector, in the orientation that it has already or that takes no transposition.
  LhsTile lhs(mlir::Value vector);
  /// The row-major tile of a vector that this program does not compute: of an attend's output, or
  /// of what a kernel before this one has.
  void bind(mlir::Value vector, mlir::Value tile) {
    rowMajorTiles[vector] = tile;
    bound.insert(vector);
  }
  int64_t getColumns() const { return columns; }

  // What the emission of one op (VectorEmission.h) needs.
  TileBuilder &builder() { return *b; }
  const BlockRows &getRows() const { return rowRange; }
  /// A weight as a tile, a matrix or a column.
  mlir::Value weight(mlir::Value value);

private:
  mlir::Value compute(mlir::Value vector);
  mlir::Value load(mlir::Value vector, bool transposed);
  mlir::Value firstRow(bool isTable);
  mlir::Value project(ProjectOp op);
  mlir::Value elementwise(ElementwiseOpInterface op);
  mlir::Value inColumns(mlir::Value operand);
  mlir::Value computeRows(mlir::Value vector);

  TileBuilder *b;
  WeightTiles &weights;
  mlir::Value batch, head, headTensor;
  BlockRows rowRange;
  int64_t columns;
  llvm::DenseMap<mlir::Value, mlir::Value> memo, rowMajorTiles;
  llvm::DenseMap<mlir::Value, bool> cheap, withRows;
  llvm::DenseSet<mlir::Value> bound;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_VECTORPROGRAM_H

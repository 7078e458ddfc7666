//===- Fusion.h - which values are computed where they are used -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOVECTOR_FUSION_H
#define POLYATTN_LIB_CONVERSION_TILETOVECTOR_FUSION_H

#include "dialects/Tile/Tile.h"

namespace polyattn::tile_to_vector {

/// Facts about the values of a kernel. Nothing is changed and nothing is emitted.
///
/// A tile value is either *deferred*: never in memory, computed register tile by register tile
/// inside the loops of its only user; or a *view* of another value's memory; or *materialised*.
class Fusion {
public:
  /// What is computed in one nest at most, in instructions for an element. The nest of a long chain
  /// is one block of code, for whose length compilers take more than linear time.
  static constexpr int64_t kMostInstructions = 1024;
  /// Strips of this many rows are produced and used at once where a whole block would leave L1.
  static constexpr int64_t kStripRows = 8;

  bool isDeferred(mlir::Value value);
  bool isView(mlir::Value value);

  /// Whether nothing reads the entries outside of a triangle.
  bool needsOnly(mlir::Value value, tile::Triangle triangle);
  /// Of a mask: whether nothing reads what it makes zero.
  bool needsNoZeros(tile::CausalMaskOp mask) {
    return needsOnly(mask.getResult(), mask.getTriangle());
  }

  /// Whether a product is computed while `value` is evaluated.
  bool containsDot(mlir::Value value);

  /// The last op in the block of `value` that reads its memory, in program order.
  mlir::Operation *lastUse(mlir::Value value);

  /// Whether evaluating `root` reads `leaf` at the position that is being computed only, so that
  /// the result may take its place.
  bool readsInPlace(mlir::Value root, mlir::Value leaf);

  /// The value whose memory a chain of views shows.
  mlir::Value viewed(mlir::Value value);

  /// The loop-carried value whose memory `value` may be computed into, or null.
  mlir::Value carriedDestination(mlir::Value value);

private:
  bool accepts(mlir::OpOperand &use, mlir::Value producer);
  bool readsBuffer(mlir::Value value);
  bool computeDeferred(mlir::Value value);
  void conclude(mlir::Value value, bool isDeferred);
  void forgetFrom(size_t conclusion);
  int64_t instructionsOf(mlir::Value value);
  bool fitsInto(mlir::Operation *user, mlir::Value value);

  llvm::DenseMap<mlir::Value, bool> deferred;
  /// The keys of `deferred`, oldest first.
  llvm::SmallVector<mlir::Value> conclusions;
};

/// About how many instructions an element of a map takes.
int64_t instructionsOfElement(tile::MapOp map);

/// Whether a map calls functions that cost dozens of instructions.
bool isExpensive(tile::MapOp map);

/// Whether a tile is n x 1 with n > 1: such columns lie contiguously and are computed like rows.
inline bool isColumnVector(tile::TileType type) {
  return type.getColumns() == 1 && type.getRows() > 1;
}

} // namespace polyattn::tile_to_vector

#endif // POLYATTN_LIB_CONVERSION_TILETOVECTOR_FUSION_H

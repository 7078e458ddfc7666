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

  explicit Fusion(tile::KernelOp kernel);

  bool isDeferred(mlir::Value value) const { return deferred.contains(value); }
  bool isView(mlir::Value value) const;

  /// Whether nothing reads the entries outside of a triangle.
  bool needsOnly(mlir::Value value, tile::Triangle triangle) const;
  /// The triangle whose entries are all that is needed of a value.
  tile::Triangle triangleOf(mlir::Value value) const;
  /// Whether nothing reads what a mask makes zero.
  bool needsNoZeros(tile::CausalMaskOp mask) const {
    return needsOnly(mask.getResult(), mask.getTriangle());
  }

  /// Whether a product is computed while `value` is evaluated.
  bool containsDot(mlir::Value value) const;
  /// The products that evaluating `value` needs first; not those inside their accumulators.
  llvm::SmallVector<tile::DotOp> productsOf(mlir::Value value) const;

  /// The last op in the block of `value` that reads its memory, in program order.
  mlir::Operation *lastUse(mlir::Value value) const;

  /// Whether evaluating `root` reads `leaf` at the position that is being computed only, so that
  /// the result may take its place.
  bool readsInPlace(mlir::Value root, mlir::Value leaf) const;

  /// The value whose memory a chain of views shows.
  mlir::Value viewed(mlir::Value value) const;

  /// The loop-carried value whose memory `value` may be computed into, or null.
  mlir::Value carriedDestination(mlir::Value value) const;

private:
  bool isDeferrable(mlir::Value value) const;
  bool isMaskView(tile::CausalMaskOp mask) const;
  bool accepts(mlir::OpOperand &use, mlir::Value producer) const;
  bool evaluatesDot(mlir::Value value) const;
  void collectProducts(mlir::Value value, llvm::SmallVectorImpl<tile::DotOp> &products) const;
  bool isPassedOn(mlir::Value value) const { return isView(value) || isDeferred(value); }
  int64_t instructionsOf(mlir::Value value) const;
  bool fitsInto(mlir::Operation *user, mlir::Value value) const;

  llvm::DenseSet<mlir::Value> deferred;
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

//===- BlockDecay.h - the decay inside a block of positions -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With c_j the sum of a block's gates up to and with j, the decay from key j to query i is
// exp(c_i - c_j). The difference must have the digits of its own size, not of the size of what
// came before j: gates mix from -1e-4 to resets of minus infinity. Two things see to that. A gate
// counts as -256 at least: exp of that is 0 in f32 even where what it multiplies, or gates above
// zero around it, are as large as f32 can be, so that nothing that f32 can tell is changed. And the
// sums, which are then at most 256 C, are held as a sum of two values (tile.cumulative_sum).
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_BLOCKDECAY_H
#define POLYATTN_CONVERSION_BLOCKDECAY_H

#include "Direction.h"
#include "TileBuilder.h"

namespace polyattn {

/// The sum high + low; low is null where high is exact.
struct HighLow {
  mlir::Value high, low;
};

/// The decay for a pair of blocks: entry (i, j) of the scores is multiplied by
/// exp(unit (query_i - key_j)), or where keys come later by exp(unit (key_j - query_i)). Null
/// without a decay; a null unit is 1.
struct PairDecay {
  HighLow query;    // [C x 1]
  HighLow key;      // [1 x C]
  mlir::Value unit; // [1 x 1]
  Direction direction = Direction::Forwards;

  explicit operator bool() const { return bool(query.high); }
  /// The scores times their decay.
  mlir::Value apply(TileBuilder &builder, mlir::Value scores) const;
};

class BlockDecay {
public:
  /// There is none.
  BlockDecay() = default;
  /// The decay by a block's gates, [1 x C], which are zero where there are no positions.
  static BlockDecay ofGates(TileBuilder &builder, mlir::Value gates);
  /// The decay of a block of C positions, the first `valid` of which exist, whose gates all are
  /// `gate`, [1 x 1].
  static BlockDecay ofEqualGates(TileBuilder &builder, mlir::Value gate, int64_t columns,
                                 mlir::Value valid);

  explicit operator bool() const { return bool(row.high); }
  /// c_i, what decays the state before the block until i: [1 x C] or [C x 1].
  mlir::Value upToRow(TileBuilder &builder) const;
  mlir::Value upToColumn(TileBuilder &builder) const;
  /// What decays j until the block ends: the sum of the gates after j, [1 x C] or [C x 1].
  mlir::Value afterRow(TileBuilder &builder) const;
  mlir::Value afterColumn(TileBuilder &builder) const;
  /// The sum of all gates, [1 x 1].
  mlir::Value total(TileBuilder &builder) const;
  /// The decay from the block's keys to its queries, which come after them or, backwards, before
  /// them.
  PairDecay pairs(Direction direction) const { return {column, row, unit, direction}; }

private:
  BlockDecay(TileBuilder &builder, HighLow row, HighLow all, mlir::Value unit);

  HighLow row;      // [1 x C], c_j
  HighLow column;   // [C x 1], the same
  HighLow all;      // [1 x 1]
  mlir::Value unit; // [1 x 1], of these; null for 1
};

/// exp of every element.
mlir::Value expOf(TileBuilder &builder, mlir::Value logarithms);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_BLOCKDECAY_H

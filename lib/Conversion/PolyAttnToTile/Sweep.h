//===- Sweep.h - the blocks of positions of one program ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program goes over its positions in blocks, from the first to the last or the other way. The
// blocks are the same both ways: they are counted from the first position, so that the last one may
// have fewer positions than the others.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_SWEEP_H
#define POLYATTN_CONVERSION_SWEEP_H

#include "Direction.h"
#include "TileBuilder.h"

namespace polyattn {

/// The positions of a block.
struct BlockSpan {
  mlir::Value position;    // of its first row
  mlir::Value valid;       // how many of its C rows exist
  mlir::Value start;       // where its run of blocks begins, that of a local kernel
  mlir::Value end;         // and where it ends
  bool isOnly = false;     // there is no other
  mlir::Value cached = {}; // rows of the run that earlier calls left in pools; null without pools
  bool onlyReads = false;  // its keys come into no state
  /// States that slide have the key that leaves the window with the block's one row.
  bool hasLeavingKey = false;
};

struct Sweep {
  mlir::Value begin, end; // index: positions [begin, end)
  int64_t block;          // C
  Direction direction = Direction::Forwards;
  bool isWhole = false; // all blocks have C positions
  /// Blocks end at multiples of C, so that the first one may be shorter, too. Forwards.
  bool isAligned = false;
  /// `cached`, index: rows of the first local block that earlier calls left in the pool; null
  /// without a pool. `isFull`, i1 of a run: the local block is complete, so that its keys may enter
  /// the state.
  mlir::Value cached = {}, isFull = {};

  using Values = TileBuilder::Values;
  using Body = llvm::function_ref<void(const BlockSpan &)>;
  using CarryingBody = llvm::function_ref<Values(const BlockSpan &, mlir::ValueRange)>;

  /// Runs `body` for every block. The run of each begins and ends where the sweep's positions do.
  void forBlocks(TileBuilder &builder, Body body) const;
  /// A sweep that carries values from block to block; returns those of the last block.
  Values forBlocks(TileBuilder &builder, mlir::ValueRange carried, CarryingBody body) const;
  /// Runs `body` for every run of at most `run` positions, each a sweep of its own.
  void forRuns(TileBuilder &builder, int64_t run,
               llvm::function_ref<void(const Sweep &)> body) const;

private:
  void forCachedRuns(TileBuilder &builder, int64_t run,
                     llvm::function_ref<void(const Sweep &)> body) const;
  Values forPositions(TileBuilder &builder, int64_t length, mlir::ValueRange carried,
                      TileBuilder::CarryingBody body) const;
  Values forAlignedBlocks(TileBuilder &builder, mlir::ValueRange carried, CarryingBody body) const;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_SWEEP_H

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
  mlir::Value position;   // of its first row
  mlir::Value valid;      // how many of its C rows exist
  mlir::Value start;      // where its run of blocks begins, that of a local kernel
  mlir::Value end;        // and where it ends
  bool isOnly = false;    // there is no other
  mlir::Value kept = {};  // how many positions the run has before the call; null where none has any
  bool onlyReads = false; // its keys come into no state
};

struct Sweep {
  mlir::Value begin, end; // index: positions [begin, end)
  int64_t block;          // C
  Direction direction = Direction::Forwards;
  bool isWhole = false; // all blocks have C positions
  /// index: how many positions the first run has before those of the sweep, of calls before this
  /// one; null where none has any. Of a run i1 whether it is full, and not the last one so far.
  mlir::Value kept = {}, isFull = {};

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
  void forKeptRuns(TileBuilder &builder, int64_t run,
                   llvm::function_ref<void(const Sweep &)> body) const;
  Values forPositions(TileBuilder &builder, int64_t length, mlir::ValueRange carried,
                      TileBuilder::CarryingBody body) const;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_SWEEP_H

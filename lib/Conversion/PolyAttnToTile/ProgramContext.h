//===- ProgramContext.h - what a program's parts share ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PROGRAMCONTEXT_H
#define POLYATTN_CONVERSION_PROGRAMCONTEXT_H

#include "FeatureShare.h"
#include "KernelFrame.h"
#include "KernelInfo.h"
#include "Sweep.h"
#include "llvm/ADT/MapVector.h"

namespace polyattn {

/// A program's segment among those that share a head by its positions: a kernel before this one has
/// stored what each segment's keys add to the state.
struct SegmentContext {
  mlir::Value segment, segments; // index: this program's, or that of its state, and their number
  mlir::Value begin, end;        // positions
  mlir::Value statesBehind;      // index: the number of states that the sweep has behind it

  /// Whether the segment has a predecessor in the order of the sweep, and whether it is the last.
  mlir::Value isEntered(TileBuilder &builder, Direction direction) const;
  mlir::Value isLast(TileBuilder &builder, Direction direction) const;
};

class WeightSums;

/// The sums that a program has for gradients of weights, and the workspaces by which kernels pass
/// results to kernels after them.
struct PassedResults {
  WeightSums *weightSums = nullptr; // to which blocks add; null without gradients of weights
  WeightSums *besideSums = nullptr; // those of the region `beside`
  llvm::MapVector<mlir::Value, mlir::Value> saved; // where values go that later kernels sum up
  llvm::SmallVector<mlir::Value> exported;         // take the kernel's `exported` rows
};

/// How many blocks a window has on one side of a block, and the nearest ones that it has as a
/// whole.
struct WindowReach {
  int64_t wholeBlocks, blocks;
};

/// Where a program has the keys of its positions from: this call, or pools of the calls before,
/// which have rows of a local block or those of the last positions.
enum class KeySource { Call, Cached, Ring };

/// What all states and attends of one program share.
struct ProgramContext {
  KernelFrame &frame;
  std::shared_ptr<const FeatureShare> share;
  std::optional<SegmentContext> segment; // none where positions are not cut
  int64_t block;                         // C
  int64_t cachedBlock;                   // as many rows of pools are read at a time
  int64_t run;                           // blocks of a local kernel, 0 without
  Mask mask;
  bool skipsIdleState; // products with a state that is zero, or that nobody reads, are empty
  PassedResults passed = {};
  bool hasGroup = false; // a program has all query heads that share its states
  /// The segment of the program's one block of queries, which reads the state before it: pairs of
  /// the segment go by scores. None in other forms than `chunkwise`.
  std::optional<SegmentContext> chunk = std::nullopt;

  BlockRows rows(TileBuilder &builder, mlir::Value position, mlir::Value valid) const {
    return {frame.sequence.rowOf(builder, position), share->rowOfCall(builder, position),
            frame.sequence.firstPosition, valid,
            frame.sequence.firstPosition || frame.sequence.isPacked()};
  }
  /// Rows of the call's first local block in the pools of calls before.
  BlockRows cachedRows(TileBuilder &builder, mlir::Value position, mlir::Value valid) const {
    mlir::Value cached =
        mlir::arith::IndexCastOp::create(builder, builder.getI64Type(), frame.sequence.cached);
    mlir::Value first = mlir::arith::SubIOp::create(builder, frame.sequence.firstPosition, cached);
    return {position, position, first, valid, true, /*ofBatches=*/false, frame.sequence.stateRow()};
  }
  /// Rows of rings, whose blocks begin at multiples of their length: at a position of the sequence.
  BlockRows ringRows(TileBuilder &builder, mlir::Value position, mlir::Value valid) const {
    return {position,
            builder.subIndex(position, frame.sequence.before),
            frame.sequence.firstPosition,
            valid,
            true,
            /*ofBatches=*/false,
            frame.sequence.stateRow()};
  }
  VectorProgram queryVectors(TileBuilder &builder, const BlockSpan &span) const {
    return frame.queryVectors(builder, rows(builder, span.position, span.valid), block);
  }
  /// Vectors of keys, for a block of as many positions as the source has at a time.
  VectorProgram keyVectors(TileBuilder &builder, mlir::Value position, mlir::Value valid,
                           KeySource source = KeySource::Call) const {
    BlockRows found = source == KeySource::Cached ? cachedRows(builder, position, valid)
                      : source == KeySource::Ring ? ringRows(builder, position, valid)
                                                  : rows(builder, position, valid);
    return frame.keyVectors(builder, found, blockOf(source));
  }
  int64_t blockOf(KeySource source) const {
    return source == KeySource::Cached ? cachedBlock
           : source == KeySource::Ring ? KeepOp::kRingBlock
                                       : block;
  }
  /// The positions of the program, block by block.
  Sweep sweep(TileBuilder &builder) const {
    Sweep sweep{segment ? segment->begin : builder.index(0),
                segment ? segment->end : frame.sequence.queries, block, direction()};
    sweep.cached = frame.sequence.cached;
    return sweep;
  }
  /// The first of the `count` positions before the call, or of as many as there are.
  mlir::Value firstBefore(TileBuilder &builder, int64_t count) const {
    mlir::Value calls = frame.sequence.before;
    return builder.subIndex(calls, builder.minIndex(calls, builder.index(count)));
  }
  /// Positions of the sequence that a ring has, in blocks of which none passes the ring's end.
  static Sweep ring(mlir::Value begin, mlir::Value end) {
    Sweep sweep{begin, end, KeepOp::kRingBlock};
    sweep.isAligned = true;
    return sweep;
  }
  /// The position of the last block whose rows see keys of a ring by scores, where a window of so
  /// many positions slides in front of a state. The state takes them in behind that block.
  int64_t lastBlockOfRing(int64_t window) const {
    return std::max<int64_t>(reachOf(window).blocks - 1, 0) * block;
  }
  /// Of a window of so many positions, a row's own one included.
  WindowReach reachOf(int64_t window) const {
    return {std::max<int64_t>(window / block - 1, 0), (window + block - 2) / block};
  }
  /// A query sees the keys on its own side only.
  bool isOrdered() const { return mask != Mask::Full; }
  /// Which way keys reach queries; without an order among them forwards.
  Direction direction() const {
    return mask == Mask::Anticausal ? Direction::Backwards : Direction::Forwards;
  }
  bool isForwards() const { return direction() == Direction::Forwards; }
  /// The pairs of a block that see each other.
  tile::Triangle triangle() const {
    return isForwards() ? tile::Triangle::Lower : tile::Triangle::Upper;
  }
  /// A local kernel's block has several blocks of the program, or such of calls before.
  bool runsAreLong() const { return run > block || frame.sequence.cached; }
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PROGRAMCONTEXT_H

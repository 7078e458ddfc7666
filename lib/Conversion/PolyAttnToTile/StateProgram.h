//===- StateProgram.h - one state inside a tile kernel ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of one op that gives a state, block by block (PolySketchFormer, section 3.1): what they
// begin with, and what each block of keys adds. Attends read them (AttendProgram.h). StateTensors.h
// stores them, and SegmentSums.h cuts them into segments of positions.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATEPROGRAM_H
#define POLYATTN_CONVERSION_STATEPROGRAM_H

#include "KeyFeatures.h"
#include "StateTensors.h"
#include "StateUpdate.h"

namespace polyattn {

class StateProgram {
public:
  /// Forms `featureBlock` features at a time.
  StateProgram(StateUpdateInterface op, int64_t featureBlock, const ProgramContext &context);
  /// What is gathered: the features of keys, and what is beside them in their rows.
  static BlockState::Shape shapeOf(StateUpdateInterface op, int64_t featureBlock);

  StateUpdateInterface getOp() const { return op; }
  /// The sums themselves, as blocks read and update them.
  const BlockState &getSums() const { return sums; }
  BlockState &getSums() { return sums; }
  /// What the transition does in a block and in a step.
  const StateUpdate &getUpdate() const { return *update; }
  const KeyFeatures &getKeys() const { return keys; }
  StateTensors tensors() const { return {op, context.frame, sums}; }

  //===--- Before the loops --------------------------------------------------===//
  /// Makes buffers and fills them with the state of the positions before this program's, or with a
  /// full mask with the whole state.
  void begin(TileBuilder &builder);
  /// Makes buffers and fills them with a state that lies in tensors.
  void beginFrom(TileBuilder &builder, const StoredState &state);
  /// Where the states of segments are: to begin from, or to store this one's.
  void setSegmentStates(const SegmentStates &states) { segmentStates = states; }
  const std::optional<SegmentStates> &getSegmentStates() const { return segmentStates; }
  /// Blocks read the state from tensors, and add nothing to it.
  void readFrom(const StoredState &state) { sums.readFrom(state); }

  //===--- Blocks ------------------------------------------------------------===//
  /// Whether the state takes in a whole run of blocks at its end.
  bool updatesAfterRun() const;
  /// Whether a block's keys come into the state with the block.
  bool updatesWithBlock(const BlockSpan &span) const {
    return context.isOrdered() && !updatesAfterRun() && !span.onlyReads;
  }
  /// Whether keys come into the state so far behind the rows that no window of these has them.
  bool slides() const { return op.getSliding(); }
  /// Whether keys have come into the state that this block reads; null where that is not asked.
  mlir::Value isFilled(TileBuilder &builder, const BlockSpan &span) const;
  /// Whether this program, the call after it or a caller reads the state once positions that begin
  /// with `first` and end before `end` are in it; null where that is not asked.
  mlir::Value isReadAfter(TileBuilder &builder, mlir::Value first, mlir::Value end) const;
  /// How many of a block's positions the state takes in: none where nobody reads it any more.
  mlir::Value positionsToAdd(TileBuilder &builder, const BlockSpan &span) const;
  StateColumns columnsOf(VectorProgram &vectors) const;
  /// Adds the first `valid` keys of one block, whose positions are those of `span`. Where the state
  /// slides, these are the keys that leave the window with the block; with `valid` 0 none. Gives
  /// the logarithm of the block's decay, [1 x 1], null without one.
  mlir::Value add(TileBuilder &builder, const BlockSpan &span, mlir::Value valid,
                  KeySource source = KeySource::Call);
  /// Behind the last block of a call that others continue: takes in what the window of the call's
  /// last position does not have. Nothing where the state does not slide.
  void finishCall(TileBuilder &builder);

private:
  /// Whether the state slides, and rings keep the keys of the window from call to call.
  bool slidesOverCalls() const { return slides() && context.frame.sequence.before; }
  int64_t window() const { return int64_t(*op.getBlock()); }
  mlir::Value addKeys(TileBuilder &builder, const BlockSpan &span, mlir::Value valid,
                      KeySource source);
  void addRing(TileBuilder &builder, mlir::Value begin, mlir::Value end);
  /// How many positions a window reaches behind a block.
  int64_t reach() const { return slides() ? context.reachOf(window()).blocks * context.block : 0; }
  std::pair<BlockSpan, mlir::Value> leavingWindow(TileBuilder &builder, const BlockSpan &span,
                                                  mlir::Value valid) const;
  void fill(TileBuilder &builder);

  mutable StateUpdateInterface op; // its accessors are not const
  const ProgramContext &context;
  std::unique_ptr<StateUpdate> update;
  bool isAskedFor = false; // as a final state, or after each block
  KeyFeatures keys;
  BlockState sums;
  std::optional<SegmentStates> segmentStates;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATEPROGRAM_H

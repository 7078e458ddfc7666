//===- StateProgram.h - one state inside a tile kernel ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of one op that gives a state, block by block (PolySketchFormer, section 3.1): what they
// begin with, what each block of keys adds, and where they are stored in the end. Attends read them
// (AttendProgram.h).
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATEPROGRAM_H
#define POLYATTN_CONVERSION_STATEPROGRAM_H

#include "FeatureBlocks.h"
#include "StateUpdate.h"

namespace polyattn {

/// Where a final state and its normalizer go; null where they are not asked for.
struct FinalState {
  mlir::Value rows, normalizer;
};

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
  const FeaturePlan &getKeyPlan() const { return keyPlan; }
  const std::vector<double> &getKeyWeights() const { return keyWeights; }
  /// What a feature's sums are to be multiplied by.
  double weightOf(int64_t feature) const { return isBare ? keyPlan.monomials[feature].weight : 1; }
  int64_t features() const { return keyPlan.monomials.size(); }

  //===--- Before the loops --------------------------------------------------===//
  /// Makes buffers and fills them with the state of the positions before this program's, or with a
  /// full mask with the whole state.
  void begin(TileBuilder &builder);
  /// The same in the kernel of prefixes, whose states begin with zeros.
  void beginPrefix(TileBuilder &builder) { sums.makeBuffers(builder); }

  //===--- Blocks ------------------------------------------------------------===//
  /// Whether the state takes in a whole run of blocks at its end.
  bool updatesAfterRun() const;
  /// Whether a block's keys come into the state with the block.
  bool updatesWithBlock(const BlockSpan &span) const {
    return context.isOrdered() && !updatesAfterRun() && !span.onlyReads;
  }
  /// Whether keys have come into the state that this block reads; null where that is not asked.
  mlir::Value isFilled(TileBuilder &builder, const BlockSpan &span) const;
  /// Whether this program, the call after it or a caller reads the state once positions that begin
  /// with `first` and end before `end` are in it; null where that is not asked.
  mlir::Value isReadAfter(TileBuilder &builder, mlir::Value first, mlir::Value end) const;
  /// How many of a block's positions the state takes in: none where nobody reads it any more.
  mlir::Value positionsToAdd(TileBuilder &builder, const BlockSpan &span) const;
  StateColumns columnsOf(VectorProgram &keys) const;
  /// Adds the first `valid` keys of one block, whose positions are those of `span`. Gives the
  /// logarithm of the block's decay, [1 x 1], null without one.
  mlir::Value add(TileBuilder &builder, const BlockSpan &span, mlir::Value valid,
                  KeySource source = KeySource::Call);

  //===--- Results -----------------------------------------------------------===//
  /// Called after the loops: writes the final state and its normalizer to the given tensors, none
  /// or several for each.
  void finish(TileBuilder &builder, llvm::ArrayRef<mlir::Value> states,
              llvm::ArrayRef<mlir::Value> normalizers);
  /// Copies a final state that is in workspaces to the tensors of the caller.
  void writeBack(TileBuilder &builder, const FinalState &from, const FinalState &to);

  //===--- Groups of query heads (GroupSums.cpp) -----------------------------===//
  /// Whether the state is a sum over programs: rows are of keys, whose head the state is of.
  bool isSumOfHeads() const { return op.isSumOfHeads(); }
  /// Called instead of `finish`: writes what this program has of the final state.
  void storePart(TileBuilder &builder, mlir::Value parts);
  /// Writes the sum of the parts of a group's heads to `states`.
  void sumParts(TileBuilder &builder, mlir::Value parts, llvm::ArrayRef<mlir::Value> states);

  //===--- States where they live --------------------------------------------===//
  StoredState at(const FinalState &place) const;
  /// Writes zeros, or the sums.
  void clear(TileBuilder &builder, const FinalState &place) const;
  void store(TileBuilder &builder, const FinalState &place) const;

  //===--- Segments of positions ---------------------------------------------===//
  /// Where the states of segments are: to begin from, or to store this one's.
  void setSegmentStates(const SegmentStates &states) { segmentStates = states; }
  bool hasTotalByPosition() const { return update->hasTotalByPosition(); }
  /// Called after all keys of the segment have come. `decay` is the sum of the logarithms that they
  /// gave; null unless it differs from position to position.
  void storeSegmentState(TileBuilder &builder, mlir::Value decay);
  /// Begins as `begin` does, adds the sums of segments, and stores what there is before each, in
  /// `before(segment)`. `finishes` says whether the last one's sum is there. Without an order there
  /// is one state, that of all segments, in `before(0)`.
  void sumSegments(TileBuilder &builder, llvm::function_ref<StoredState(mlir::Value)> before,
                   bool finishes);
  /// Blocks read the state from tensors, and add nothing to it.
  void readFrom(const StoredState &state) { sums.readFrom(state); }

private:
  bool canBeBare() const;
  void fill(TileBuilder &builder);
  StoredState initialState() const;
  void storeTo(TileBuilder &builder, const BlockState::Destinations &results);
  mlir::Value isFirstOfGroup(TileBuilder &builder) const;
  /// The head whose state it is.
  mlir::Value head() const { return context.frame.headOf(op.getGateHeads() == GateHeads::Q); }

  mutable StateUpdateInterface op; // its accessors are not const
  const ProgramContext &context;
  std::unique_ptr<StateUpdate> update;
  bool isAskedFor = false; // as a final state, or after each block
  FeaturePlan keyPlan;
  bool isBare; // sums of the key's products without their weights: readers multiply by those
  std::vector<double> keyWeights;
  BlockState sums;
  std::optional<SegmentStates> segmentStates;
};

/// Sums up the keys of the program's segment in each of the states, from zeros, and stores the
/// sums.
void sumSegment(TileBuilder &builder, const ProgramContext &context,
                llvm::ArrayRef<StateProgram *> states);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATEPROGRAM_H

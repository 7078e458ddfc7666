//===- StateUpdate.h - a recurrence, block by block -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiles of S_i = A_i S_{i-1} + key_i value_i^T. One class for each op that gives a state says
// what its transition A does in a block of positions and in a step of one token. What is common to
// all of them is in StateProgram and AttendProgram, which ask here.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATEUPDATE_H
#define POLYATTN_CONVERSION_STATEUPDATE_H

#include "BlockState.h"
#include "Gates.h"

namespace polyattn {

/// A block of keys: its first position, how many of its positions exist, and where they are.
struct KeyBlock {
  mlir::Value position, valid;
  KeySource source = KeySource::Call;
};

/// What a position adds to each row of a state, [C x dv], and to its normalizer where that is not
/// 1, [1 x C].
struct StateColumns {
  mlir::Value rows, normalizer;
};

/// Some rows of a state that a block's queries read while its keys come into them. `queries` and
/// `keys` are features from `first` on, [count x C].
struct RowsInBlock {
  mlir::Value first, queries, keys;
};

/// The sums of a block's rows: [C x dv], and [1 x C] with a normalizer.
struct BlockSums {
  mlir::Value numerator, denominator;
};

/// Pairs inside of a block whose weight is a sum over features that decay each by itself: they come
/// with the rows of the state that these features read.
class PairsOfFeatures {
public:
  virtual ~PairsOfFeatures() = default;
  /// Adds to `in` what the queries have of some rows as they were before the block, and of the
  /// block's keys up to each query; then adds the first `added` keys to the rows, unless that is
  /// null. Where `filled` is given and is false, the rows are zeros.
  virtual BlockSums readAndAdd(TileBuilder &builder, BlockState &sums, const RowsInBlock &rows,
                               const StateColumns &columns, const KeyBlock &block,
                               mlir::Value filled, mlir::Value added,
                               const BlockSums &in) const = 0;
};

class StateUpdate {
public:
  static std::unique_ptr<StateUpdate> of(StateUpdateInterface op, const ProgramContext &context);
  virtual ~StateUpdate() = default;

  //===--- A block of positions ----------------------------------------------===//
  /// The decay from position to position that all features share. There is none where nothing
  /// decays, or where features decay each by itself.
  virtual BlockDecay decayIn(TileBuilder &builder, const KeyBlock &block) const = 0;
  /// Adds the first `added` keys of a block to the rows from `first` on. `features` are [count x C]
  /// of its keys, and `decay` is that of `decayIn`.
  virtual void add(TileBuilder &builder, BlockState &sums, mlir::Value first, mlir::Value features,
                   const StateColumns &columns, const KeyBlock &block, mlir::Value added,
                   const BlockDecay &decay) const = 0;
  /// What reads rows where a pair inside of a block has no score times a number; null where it has.
  virtual const PairsOfFeatures *pairsOfFeatures() const { return nullptr; }

  //===--- Two segments ------------------------------------------------------===//
  /// Whether `decayIn` gives a total for each block, which differs from block to block.
  virtual bool hasTotalByPosition() const { return false; }
  /// Stores the logarithms of the transition over the program's segment, which take what is behind
  /// the segment over it. `total` is what `decayIn` gave of all blocks; null where it is the same
  /// in all calls.
  virtual void storeTransition(TileBuilder &builder, const BlockState &sums,
                               const SegmentStates &segments, mlir::Value total) const = 0;

  //===--- One token ----------------------------------------------------------===//
  /// What the rows are multiplied by at the call's one token: [1 x 1], or [1 x D] with an element
  /// for each row; null where nothing decays.
  virtual mlir::Value factorOfToken(TileBuilder &builder) const = 0;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATEUPDATE_H

//===- BlockState.h - what a sweep has gathered so far ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep over blocks of positions gathers S = sum phi_j x_j^T, a row of dv elements for each
// feature, and, beside it, z = sum phi_j. For the outputs of a causal attention phi_j are features
// of keys and x_j values, and the sweep goes forwards. Gradients of keys need the same backwards,
// with features of queries.
//
// With a decay, what a block adds has decayed until the block's end in the direction of the sweep,
// and what the state had has decayed by the whole block. A position of the next block in that
// direction reads the state after what decays it up to that position.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_BLOCKSTATE_H
#define POLYATTN_CONVERSION_BLOCKSTATE_H

#include "BlockDecay.h"
#include "FeatureShare.h"
#include "Sweep.h"
#include <memory>

namespace polyattn {

/// A state that lies in tensors.
struct StoredState {
  mlir::Value rows;                     // [..., D, dv]; a last dimension of 1 may be left out
  mlir::Value normalizer;               // [..., D], null without one
  llvm::SmallVector<mlir::Value, 4> at; // indices of the other dimensions
  bool isTransposed = false;            // rows are [..., dv, D]
  std::vector<StoredState> plus = {};   // what is added as it is loaded; has rows or a normalizer

  /// The sum of the states in tensors `rows`, with the sum of `normalizers` if there are some.
  static StoredState sumOf(llvm::ArrayRef<mlir::Value> rows,
                           llvm::ArrayRef<mlir::Value> normalizers,
                           const llvm::SmallVector<mlir::Value, 4> &at, bool isTransposed);

  mlir::Value loadRows(TileBuilder &builder, mlir::Value first, int64_t count, int64_t width) const;
  mlir::Value loadNormalizer(TileBuilder &builder, mlir::Value first, int64_t count) const;
  void storeRows(TileBuilder &builder, mlir::Value tile, mlir::Value first) const;
  /// One of its tensors.
  mlir::Value tensor() const { return rows ? rows : normalizer; }
  void storeNormalizer(TileBuilder &builder, mlir::Value tile, mlir::Value first) const;

private:
  bool isColumn() const;
  mlir::Value loadOwnRows(TileBuilder &builder, mlir::Value first, int64_t count,
                          int64_t width) const;
};

/// What the positions of each segment but the last one of a sweep add to a state, starting from
/// zero, in the order of the positions. Features are as the state has them, without the weights
/// that it lacks.
struct SegmentStates {
  mlir::Value states;      // [S - 1, B, Hs, D, dv]
  mlir::Value normalizers; // [S - 1, B, Hs, D], null without a normalizer
  mlir::Value decays; // [S - 1, B, Hs] or, of each feature, [S - 1, B, Hs, D], logarithms; or null
  mlir::Value batch, head; // index: whose they are

  StoredState of(mlir::Value segment) const;
  /// The logarithms of a segment's decay of `count` features from `first` on: [1 x 1] where all
  /// have the same, else [count x 1].
  mlir::Value loadDecay(TileBuilder &builder, mlir::Value segment, mlir::Value first,
                        int64_t count) const;
  void storeDecay(TileBuilder &builder, mlir::Value decay, mlir::Value segment,
                  mlir::Value first) const;

private:
  bool haveDecaysOfFeatures() const;
};

/// The states that a program begins with: of the `count` segments that its sweep has behind it.
/// Forwards these are the first ones, backwards the last ones, the last first.
struct SegmentsBehind {
  const SegmentStates &segments;
  mlir::Value count;
};

/// The logarithm of a state's decay on the way to each position that reads it, [C x 1].
mlir::Value decayOfReaders(TileBuilder &builder, const BlockDecay &decay, Direction direction);

class BlockState {
public:
  struct Shape {
    FeatureRange range;         // D, and the features that are formed at a time
    int64_t width = 0;          // dv; 0 where there is a normalizer alone
    bool hasNormalizer = false; // z beside S
    /// Weights that the features lack; empty where they lack none. A state in a tensor has them.
    std::vector<double> weights;
    Direction direction = Direction::Forwards;
  };

  BlockState() = default;
  BlockState(Shape shape, std::shared_ptr<const FeatureShare> share)
      : shape(std::move(shape)), share(std::move(share)) {}

  int64_t getWidth() const { return shape.width; }
  bool hasNormalizer() const { return shape.hasNormalizer; }
  bool lacksWeights() const { return !shape.weights.empty(); }

  /// Makes the buffers, filled with zeros unless a launch before this one has left a state.
  void makeBuffers(TileBuilder &builder);
  /// Fills the buffers with `given`, or zeros, and adds the states of the segments. A given state
  /// without its normalizer begins with zeros there.
  void fill(TileBuilder &builder, const StoredState *given, const SegmentsBehind *behind);
  /// S <- g S + phi^T x and z likewise, for features [first, first + count) and the `valid`
  /// positions of a block. `features` are [count x C], `others` [C x dv]; z adds up the features,
  /// times the number that each position has in `weights`, [1 x C], if it is not null.
  void update(TileBuilder &builder, mlir::Value features, mlir::Value others, mlir::Value weights,
              mlir::Value first, mlir::Value valid, const BlockDecay &decay);

  /// S <- diag(factor) S + phi^T x, where each row decays by itself: `factor` is [count x 1], and
  /// `features` have decayed until the block's end.
  void addDecayed(TileBuilder &builder, mlir::Value features, mlir::Value others,
                  mlir::Value weights, mlir::Value first, mlir::Value valid, mlir::Value factor);

  /// The row of the buffers that belongs to a feature, as `readRows` and `readNormalizer` want it.
  mlir::Value rowOf(TileBuilder &builder, mlir::Value feature) const;
  mlir::Value readRows(TileBuilder &builder, mlir::Value row, int64_t count) const;
  mlir::Value readNormalizer(TileBuilder &builder, mlir::Value row, int64_t count) const;
  /// The same of features from `first` on, with all weights, as tensors have them.
  mlir::Value weightedRows(TileBuilder &builder, mlir::Value first, int64_t count) const;
  mlir::Value weightedNormalizer(TileBuilder &builder, mlir::Value first, int64_t count) const;
  /// Runs `body` over the features that the program has.
  TileBuilder::Values forFeatureBlocks(TileBuilder &builder, mlir::ValueRange carried,
                                       FeatureShare::Body body) const {
    return share->forBlocks(builder, shape.range, carried, body);
  }

  /// Writes the state, with all weights, to each of `states` and its normalizer to each of
  /// `normalizers`; `at` as in StoredState.
  struct Destinations {
    llvm::ArrayRef<mlir::Value> states, normalizers;
    llvm::SmallVector<mlir::Value, 4> at;
  };
  void store(TileBuilder &builder, const Destinations &destinations) const;
  /// Writes the sum of `count` states in tensors, the i-th of which is `part(i)`.
  void storeSum(TileBuilder &builder, const Destinations &destinations, mlir::Value count,
                llvm::function_ref<StoredState(mlir::Value i)> part) const;
  /// Copies a state from tensors to `to`, bit by bit.
  void copy(TileBuilder &builder, const StoredState &from, const Destinations &to) const;
  /// Writes the state of a segment, as `fill` reads it.
  void storeSegmentState(TileBuilder &builder, const StoredState &stored) const;

  /// Reads from now on what lies in tensors, where there are no buffers.
  void readFrom(const StoredState &state) { stored = state; }
  /// Adds what segments add, in the order of the sweep, and stores what there is before each of
  /// them, `before(segment)`, unless that is null. `finishes` says that the sum of the last one is
  /// there, too; else the last one has only a state before it.
  void addSegments(TileBuilder &builder, const SegmentStates &segments,
                   llvm::function_ref<StoredState(mlir::Value)> before, bool finishes);

private:
  void updateNormalizer(TileBuilder &builder, mlir::Value features, mlir::Value weights,
                        mlir::Value factor, mlir::Value first, mlir::Value valid);
  void addBehind(TileBuilder &builder, const SegmentsBehind &behind, mlir::Value first,
                 mlir::Value &rows, mlir::Value &column) const;
  /// What a block of features has gathered: rows and normalizer, those that there are.
  llvm::SmallVector<mlir::Value> gathered(TileBuilder &builder, mlir::Value first,
                                          int64_t count) const;
  llvm::SmallVector<mlir::Value> afterSegment(TileBuilder &builder, const SegmentStates &segments,
                                              mlir::Value segment, mlir::ValueRange before,
                                              mlir::Value first) const;
  void
  storeBlocks(TileBuilder &builder, const Destinations &destinations,
              llvm::function_ref<mlir::Value(mlir::Value first, int64_t count)> rows,
              llvm::function_ref<mlir::Value(mlir::Value first, int64_t count)> normalizer) const;

  Shape shape;
  std::shared_ptr<const FeatureShare> share;
  mlir::Value rows, normalizer;      // buffers [D x dv], [D x 1]
  std::optional<StoredState> stored; // what is read in place of these
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_BLOCKSTATE_H

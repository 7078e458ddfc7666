//===- AttendProgram.h - one attention inside a block program ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The block form of PolySketchFormer, section 3.1, for one `attend`. Pairs of a block of
// queries with keys before it go through the state, pairs inside the block through
// scores or features. The quadratic form is the same without a state: all pairs
// through scores.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ATTENDPROGRAM_H
#define POLYATTN_CONVERSION_ATTENDPROGRAM_H

#include "FeatureBlocks.h"
#include "ScoreProgram.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

/// The share of a program in work that is cut by features: several programs of one batch and
/// head hold a part of the state each. Either a second kernel adds what they store, and a long
/// sequence is cut into calls with the state where it is; or they are a cluster.
struct SplitContext {
  mlir::Value split, splits; // index: this program's part and their number
  mlir::Value base;          // index: the position of the call's first row
};

/// The share of a program in work that is cut by positions: a kernel before this one has stored
/// what each segment's keys add to the state.
struct SegmentContext {
  mlir::Value segment, segments; // index: this program's, or that of its sums, and their number
  mlir::Value begin, end;        // positions
  mlir::Value sumsBefore;        // index: the number of sums that come before
};

/// What the keys of each segment but the last add to the state of one attend, starting from zero.
/// Features have their stored weights.
struct SegmentSums {
  mlir::Value states;      // [S - 1, B, Hs, D, dv]
  mlir::Value normalizers; // [S - 1, B, Hs, D], null without a normalizer
  mlir::Value decays;      // [S - 1, B, Hs], logarithms; null without decay
  mlir::Value head;        // index: whose they are
};

/// What all attends of one program share.
struct ProgramContext {
  tile::KernelOp kernel;
  WeightTiles &weights;
  mlir::Value batch, head, kvHead, group;
  mlir::Value queries, keys; // numbers of positions, index
  int64_t block;             // C
  int64_t run;               // blocks of a local kernel, 0 without
  bool causal;
  std::optional<SplitContext> split;                    // none where the features cannot be cut
  std::optional<SegmentContext> segment = std::nullopt; // none where positions are not cut
  int64_t cluster = 1; // programs that share the features and run together, `split` says which
  bool skipsIdleState =
      false; // products with a state that is zero, or that nobody reads, are empty
  mlir::Value firstPosition = {}; // i64: of row 0 in its sequence; null where that is always 0

  /// The features are cut as a launch asks, and not by a cluster.
  bool hasCalls() const { return split && cluster == 1; }
  /// The row of the entry's call, which a launch may cut into several.
  mlir::Value rowOfCall(TileBuilder &builder, mlir::Value position) const {
    return split ? builder.addIndex(position, split->base) : position;
  }
  BlockRows rows(TileBuilder &builder, mlir::Value position, mlir::Value valid) const {
    return {position, rowOfCall(builder, position), firstPosition, valid};
  }
};

/// Emits `body` for one program of a cluster, what all of them would do alike.
void inFirstOfCluster(TileBuilder &builder, const ProgramContext &context,
                      llvm::function_ref<void(TileBuilder &)> body);

/// The place of a block of positions.
struct BlockPlace {
  mlir::Value position; // of its first row
  mlir::Value valid;    // how many of its C rows exist
  mlir::Value start;    // where its run of blocks began, that of a local kernel
  bool isOnly = false;  // no key comes before it
};

/// The tensors that one attend's state and its normalizer part go to, each to none or several.
struct FinalTensors {
  llvm::SmallVector<mlir::Value, 1> states, normalizers;
};

class AttendProgram {
public:
  AttendProgram(AttendOp op, const Schedule &schedule, ProgramContext &context);

  /// Before the loops: buffers, the state of the positions before this program's, and with a full
  /// mask the whole state.
  void begin(TileBuilder &builder);
  /// What a row of queries has gathered.
  struct Sums {
    mlir::Value numerator;   // [C x dv]
    mlir::Value denominator; // [C x 1], null without a normalizer
    mlir::Value largest;     // [C x 1], the largest score, where the normalizer asks for it
  };
  /// The sums of one block of queries, or this program's share of them.
  Sums block(TileBuilder &builder, VectorProgram &queries, const BlockPlace &place);
  /// o = N over the denominator, [C x dv].
  mlir::Value normalize(TileBuilder &builder, const Sums &sums, const BlockPlace &place);
  Sums zeroSums(TileBuilder &builder);
  bool normalized() const { return op.getNormalizer().getKind() != NormalizerKind::None; }
  int64_t getValueWidth() const { return valueWidth; }
  /// Into how many parts the features can be cut.
  int64_t maxSplits() const;
  /// True where the state takes in a whole run of blocks at its end.
  bool updatesAfterRun() const { return usesState() && causal() && isLocal() && runsAreLong(); }
  /// Whether this program, the call after it or a caller reads the state once positions up to `end`
  /// are in it; null where that is not asked.
  mlir::Value isStateReadAfter(TileBuilder &builder, mlir::Value end) const;
  /// Adds the keys of one block to the state. Gives the logarithm of the block's decay, [1 x 1],
  /// null without one.
  mlir::Value update(TileBuilder &builder, const BlockPlace &place);
  /// After the loops: writes the final state to the tensors given.
  void finish(TileBuilder &builder, const FinalTensors &tensors, bool interleaved);

  //===--- Segments of positions (AttendSegments.cpp) -----------------------===//
  /// Where the sums of segments are: to begin from, or to store this one's.
  void setSegmentSums(const SegmentSums &sums) { segmentSums = sums; }
  /// In place of `begin` for a program that only sums up its segment: a state of zeros.
  void beginSums(TileBuilder &builder);
  /// Whether the decay differs from position to position.
  bool hasDecayByPosition() const;
  /// After updates with all keys of the segment. `decay` is the sum of what they gave; null unless
  /// it differs from position to position.
  void storeSums(TileBuilder &builder, mlir::Value decay);

private:
  bool causal() const { return context.causal; }
  bool isLocal() const { return bool(op.getLocalQuery()); }
  /// A local kernel's block has several blocks of the program.
  bool runsAreLong() const { return context.run > context.block; }
  bool usesState() const { return schedule.form != ScheduleForm::Quadratic; }
  /// One tile has all features.
  bool formsAllFeatures() const { return !context.split && features <= schedule.featureBlock; }
  bool featuresOnDiagonal() const {
    return usesState() && schedule.diagonal == ScheduleDiagonal::Features && !isLocal();
  }
  VectorProgram keyProgram(TileBuilder &builder, mlir::Value position, mlir::Value valid);
  BlockDecay decay(TileBuilder &builder, mlir::Value position, mlir::Value valid);
  void makeBuffers(TileBuilder &builder);
  void fillState(TileBuilder &builder);
  mlir::Value givenState(TileBuilder &builder, mlir::Value first, int64_t count);
  mlir::Value givenNormalizer(TileBuilder &builder, mlir::Value first, int64_t count);
  void addSegmentsBefore(TileBuilder &builder, mlir::Value first, mlir::Value &rows,
                         mlir::Value &column);
  void
  forFeatureBlocks(TileBuilder &builder, mlir::ValueRange carried,
                   llvm::function_ref<llvm::SmallVector<mlir::Value>(TileBuilder &, mlir::Value,
                                                                     int64_t, mlir::ValueRange)>
                       body,
                   llvm::SmallVectorImpl<mlir::Value> &results);
  /// The features of each program of a cluster, and the first of this one's.
  int64_t share() const { return features / context.cluster; }
  mlir::Value shareBegin(TileBuilder &builder);
  /// Where the buffers have a feature's row.
  mlir::Value rowOf(TileBuilder &builder, mlir::Value feature);
  void updateRows(TileBuilder &builder, mlir::Value features, mlir::Value values, mlir::Value first,
                  mlir::Value valid, const BlockDecay &decay);
  mlir::Value isStateFilled(TileBuilder &builder, const BlockPlace &place) const;
  void decayedSums(TileBuilder &builder, mlir::Value features, mlir::Value weights,
                   mlir::Value factor, mlir::Value first, mlir::Value valid);
  mlir::Value runDecay(TileBuilder &builder, const BlockPlace &place);
  Sums throughState(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys,
                    mlir::Value values, const BlockPlace &place, const BlockDecay &decay,
                    mlir::Value &diagonal);
  void addPairs(TileBuilder &builder, Sums &sums, mlir::Value scores, mlir::Value values,
                bool diagonal, mlir::Value bound);
  void addNearPairs(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys,
                    mlir::Value values, mlir::Value diagonal, const BlockPlace &place,
                    const BlockDecay &decay, Sums &sums);
  /// Pairs with the blocks of keys in [from, to), the last one first, or with all keys.
  void addBlocks(TileBuilder &builder, VectorProgram &queries, mlir::Value from, mlir::Value to,
                 bool local, const BlockDecay &decay, mlir::Value &between, Sums &sums);
  mlir::Value scores(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys, bool local,
                     bool diagonal, const PairDecay &decay);
  mlir::Value gateHead() const;
  mlir::Value stateHead() const;

  mutable AttendOp op; // its accessors are not const
  Schedule schedule;
  ProgramContext &context;
  FeaturePlan queryPlan, keyPlan;
  int64_t features = 0, valueWidth = 0;
  /// Weights that stored key features lack; the queries' carry them instead.
  std::vector<double> queryWeights, keyWeights, storedWeights;
  mlir::Value state, normalizer; // buffers [D x dv], [D x 1]
  std::optional<SegmentSums> segmentSums;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ATTENDPROGRAM_H

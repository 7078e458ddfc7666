//===- AttendProgram.h - one attention inside a tile kernel -----*- C++ -*-===//
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

#include "AttendSet.h"
#include "BlockState.h"
#include "FeatureBlocks.h"
#include "KernelFrame.h"
#include "ScoreProgram.h"
#include "polyattn/Schedule/ContractedState.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

/// A program's segment among those that share a head by its positions: a kernel before this one has
/// stored what each segment's keys add to the state.
struct SegmentContext {
  mlir::Value segment, segments; // index: this program's, or that of its state, and their number
  mlir::Value begin, end;        // positions
  mlir::Value statesBehind;      // index: the number of states that the sweep has behind it

  /// Whether a sweep comes here from another segment, and whether it goes on to none.
  mlir::Value isEntered(TileBuilder &builder, Direction direction) const;
  mlir::Value isLast(TileBuilder &builder, Direction direction) const;
};

/// Where a final state and its normalizer go; null where they are not asked for.
struct FinalState {
  mlir::Value rows, normalizer;
};

class WeightSums;

/// What a call of one token needs: features of queries and of keys, and values. As workspaces these
/// are [B, H, D], [B, Hkv, D] and [B, Hkv, dv], as tiles of one batch and head rows.
struct StepVectors {
  mlir::Value query, key, value;
};

/// What a position adds to each row of a state, [C x dv], and to its normalizer where that is not
/// 1, [1 x C].
struct StateColumns {
  mlir::Value rows, normalizer;
};

/// The vectors of a block, formed as far as all blocks of features need them.
struct BlockVectors {
  VectorProgram keys;
  mlir::Value values; // null under a full mask, where the state is there already
  BlockDecay decay;
  FeatureBlocks queryFeatures, keyFeatures;
};

/// What all attends of one program share.
struct ProgramContext {
  KernelFrame &frame;
  std::shared_ptr<const FeatureShare> share;
  std::optional<SegmentContext> segment; // none where positions are not cut
  int64_t block;                         // C
  int64_t keptBlock;                     // as many rows of pools are read at a time
  int64_t run;                           // blocks of a local kernel, 0 without
  Mask mask;
  bool skipsIdleState; // products with a state that is zero, or that nobody reads, are empty
  WeightSums *weightSums = nullptr;    // to which blocks add; null without gradients of weights
  WeightSums *guestSums = nullptr;     // those of the set's guest
  unsigned firstKept = 0;              // the workspace of the first value of `kept`
  llvm::ArrayRef<KeptValue> kept = {}; // what the kernel keeps
  unsigned firstPassed = 0;            // that of the first rows that it gives to others, or takes
  bool hasGroup = false;               // a program has all query heads that share its states
  int64_t fewestBatches = 1;           // whose features a kernel before the steps computes

  BlockRows rows(TileBuilder &builder, mlir::Value position, mlir::Value valid) const {
    return {frame.rowOf(builder, position), share->rowOfCall(builder, position),
            frame.firstPosition, valid, frame.firstPosition || frame.isPacked()};
  }
  /// Rows of the call's first local block in the pools of calls before.
  BlockRows keptRows(TileBuilder &builder, mlir::Value position, mlir::Value valid) const {
    mlir::Value kept = mlir::arith::IndexCastOp::create(builder, builder.getI64Type(), frame.kept);
    mlir::Value first = mlir::arith::SubIOp::create(builder, frame.firstPosition, kept);
    return {position, position, first, valid, true, /*ofBatches=*/false, frame.stateRow()};
  }
  VectorProgram queryVectors(TileBuilder &builder, const BlockSpan &span) const {
    return frame.queryVectors(builder, rows(builder, span.position, span.valid), block);
  }
  /// The positions of the program, block by block.
  Sweep sweep(TileBuilder &builder) const {
    Sweep sweep{segment ? segment->begin : builder.index(0), segment ? segment->end : frame.queries,
                block, direction()};
    sweep.kept = frame.kept;
    return sweep;
  }
  /// Which way keys reach queries; without an order among them forwards.
  Direction direction() const {
    return mask == Mask::Anticausal ? Direction::Backwards : Direction::Forwards;
  }
};

/// Where a program has the keys of its positions from: this call, or pools of the calls before.
enum class KeySource { Call, Kept };

class AttendProgram {
public:
  AttendProgram(AttendOp op, const Schedule &schedule, const ProgramContext &context);

  /// Called before the loops: makes buffers and fills them with the state of the positions before
  /// this program's, or with a full mask with the whole state.
  void begin(TileBuilder &builder);
  /// What all parts of a block need; called before `block`.
  BlockVectors vectors(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span);
  /// The accumulators of one block of queries, or of the part at hand.
  Accumulators block(TileBuilder &builder, VectorProgram &queries, BlockVectors &vectors,
                     const BlockSpan &span);
  /// o = N over the denominator, [C x dv]. Fills in `factors`, if it is not null.
  mlir::Value normalize(TileBuilder &builder, const Accumulators &accumulators,
                        const BlockSpan &span, RowFactors *factors);
  bool normalized() const { return op.getNormalizer().hasDenominator(); }
  bool hasStateNormalizer() const { return state.hasNormalizer(); }
  /// What the state gathers: the features of keys, and what is beside them in its rows.
  static BlockState::Shape stateShape(AttendOp op, const Schedule &schedule);
  int64_t getValueWidth() const { return valueWidth; }
  /// True where the state takes in a whole run of blocks at its end.
  bool updatesAfterRun() const { return usesState() && isOrdered() && isLocal() && runsAreLong(); }
  /// Whether this program, the call after it or a caller reads the state once positions that begin
  /// with `first` and end before `end` are in it; null where that is not asked.
  mlir::Value isStateReadAfter(TileBuilder &builder, mlir::Value first, mlir::Value end) const;
  /// Adds the keys of one block to the state. Gives the logarithm of the block's decay, [1 x 1],
  /// null without one.
  mlir::Value update(TileBuilder &builder, const BlockSpan &span,
                     KeySource source = KeySource::Call);
  /// Called after the loops: writes the final state and its normalizer to the given tensors, none
  /// or several for each.
  void finish(TileBuilder &builder, llvm::ArrayRef<mlir::Value> states,
              llvm::ArrayRef<mlir::Value> normalizers);

  //===--- Groups of query heads (GroupSums.cpp) -----------------------------===//
  /// Whether the state is a sum over programs: rows are of keys, whose head the state is of.
  bool hasPartOfState() const;
  /// Called instead of `finish`: writes what this program has of the final state.
  void storePartOfState(TileBuilder &builder, mlir::Value parts);
  /// Writes the sum of the parts of a group's heads to `states`.
  void sumPartsOfState(TileBuilder &builder, mlir::Value parts, llvm::ArrayRef<mlir::Value> states);

  //===--- One token (AttendStep.cpp) ----------------------------------------===//
  /// Stores the features of queries, or of keys and their values, for rows of batches.
  void storeQueries(TileBuilder &builder, const StepVectors &vectors, VectorProgram &program);
  void storeKeys(TileBuilder &builder, const StepVectors &vectors, VectorProgram &program);
  /// Computes or loads rows for the batch: of the query head at hand, or of keys and their values.
  void computeQueries(TileBuilder &builder, StepVectors &rows, VectorProgram &program) const;
  void computeKeys(TileBuilder &builder, StepVectors &rows, VectorProgram &program) const;
  void loadQueries(TileBuilder &builder, StepVectors &rows, const StepVectors &stored) const;
  void loadKeys(TileBuilder &builder, StepVectors &rows, const StepVectors &stored) const;
  /// What the query head has of the state where it lives, [1 x dv], once that has the key of these
  /// rows if they have one: other query heads that share the state only read it.
  Accumulators step(TileBuilder &builder, const StepVectors &rows, const FinalState &place) const;
  /// The same of the state as it was, and what the scores of near pairs give.
  Accumulators stepBefore(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                          VectorProgram &queries, const BlockSpan &span);
  /// Zeros where the state lives.
  void clear(TileBuilder &builder, const FinalState &place);
  /// Stores the state where it lives.
  void store(TileBuilder &builder, const FinalState &place) const;

  /// Copies a final state that is in workspaces to the tensors of the caller.
  void writeBack(TileBuilder &builder, const FinalState &from, const FinalState &to);

  //===--- Segments of positions (AttendSegments.cpp) -----------------------===//
  /// Where the states of segments are: to begin from, or to store this one's.
  void setSegmentStates(const SegmentStates &states) { segmentStates = states; }
  /// Called instead of `begin` in the prefix kernel, whose states begin with zeros.
  void beginPrefix(TileBuilder &builder) { state.makeBuffers(builder); }
  /// Whether the decay differs from position to position.
  bool hasDecayByPosition() const;
  /// Called after updates with all keys of the segment. `decay` is the sum of the logarithms that
  /// they gave; null unless it differs from position to position.
  void storeSegmentState(TileBuilder &builder, mlir::Value decay);

private:
  /// A query sees the keys on its own side only.
  bool isOrdered() const { return context.mask != Mask::Full; }
  bool isForwards() const { return context.direction() == Direction::Forwards; }
  /// The decay of the pairs in a block.
  tile::Triangle triangle() const {
    return isForwards() ? tile::Triangle::Lower : tile::Triangle::Upper;
  }
  bool isLocal() const { return bool(op.getLocalQuery()); }
  /// A local kernel's block has several blocks of the program, or such of calls before.
  bool runsAreLong() const { return context.run > context.block || context.frame.kept; }
  bool usesState() const { return schedule.form != ScheduleForm::Quadratic; }
  /// The states are those that a tensor has after each block, and none are summed up.
  bool readsStates() const { return usesState() && op.getBlockStates(); }
  /// One tile has all features.
  bool formsAllFeatures() const {
    return context.share->isAll() && features() <= schedule.featureBlock;
  }
  bool featuresOnDiagonal() const {
    return usesState() && !readsStates() && schedule.diagonal == ScheduleDiagonal::Features &&
           !isLocal();
  }
  /// One part of the features has the scores of a block, of which others see none.
  bool scoresComeInTurns() const {
    return isOrdered() && !context.share->isAll() && (contracted || !featuresOnDiagonal());
  }
  int64_t features() const { return keyPlan.monomials.size(); }
  int64_t blockOf(KeySource source) const {
    return source == KeySource::Kept ? context.keptBlock : context.block;
  }
  VectorProgram keyProgram(TileBuilder &builder, mlir::Value position, mlir::Value valid,
                           KeySource source = KeySource::Call) const;
  BlockDecay decay(TileBuilder &builder, mlir::Value position, mlir::Value valid,
                   KeySource source = KeySource::Call) const;
  Accumulators zeroAccumulators(TileBuilder &builder) const;
  void fillState(TileBuilder &builder);
  void storeFeatures(TileBuilder &builder, const FeaturePlan &plan,
                     const std::vector<double> &weights, mlir::Value tensor, mlir::Value head,
                     VectorProgram &program);
  mlir::Value featureRow(TileBuilder &builder, const FeaturePlan &plan,
                         const std::vector<double> &weights, VectorProgram &program) const;
  mlir::Value stepDecay(TileBuilder &builder) const;
  mlir::Value stepNormalizer(TileBuilder &builder, mlir::Value before, mlir::Value keys,
                             mlir::Value factor, const StoredState &stored) const;
  Accumulators stepState(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                         bool before) const;
  StoredState stateAt(const FinalState &place) const;
  StoredState initialState() const;
  void storeState(TileBuilder &builder, const BlockState::Destinations &results);
  mlir::Value isFirstOfGroup(TileBuilder &builder) const;
  mlir::Value isStateFilled(TileBuilder &builder, const BlockSpan &span) const;
  mlir::Value runDecay(TileBuilder &builder, const BlockSpan &span);
  void planState();
  //===--- States after blocks, in rows (StatesInRows.cpp) -------------------===//
  mlir::Value filledRows(TileBuilder &builder, const BlockSpan &span, int64_t rows) const;
  mlir::Value loadNormalizerInRows(TileBuilder &builder, const BlockSpan &span,
                                   mlir::Value first) const;
  Accumulators throughStatesInRows(TileBuilder &builder, VectorProgram &queries,
                                   const BlockSpan &span);
  void storeStateInRows(TileBuilder &builder, mlir::Value first, int64_t count,
                        const BlockSpan &span) const;
  void storeNormalizerInRows(TileBuilder &builder, const BlockSpan &span) const;
  void storePiece(TileBuilder &builder, mlir::Value tile, mlir::Value column,
                  const BlockSpan &span) const;
  void planContractedState();
  StateColumns stateColumns(VectorProgram &keys) const;
  Accumulators throughContractedState(TileBuilder &builder, VectorProgram &queries,
                                      VectorProgram &keys, const BlockSpan &span,
                                      const BlockDecay &decay);
  /// How many of a block's positions the state takes in: none where nobody reads it any more.
  mlir::Value positionsForState(TileBuilder &builder, const BlockSpan &span) const;
  /// Rows of queries as they lie in memory are the left operand: nothing to transpose.
  bool readsRowsOfQueries(const FeatureBlocks &queries) const {
    return formsAllFeatures() && queries.areRowMajor();
  }
  void prepareQueryFeatures(TileBuilder &builder, VectorProgram &queries, FeatureBlocks &features,
                            const BlockSpan &span);
  void prepareScoresOf(VectorProgram &queries);
  /// Whether the block's keys come into the state with the pass that reads it.
  bool updatesWithBlock(const BlockSpan &span) const {
    return isOrdered() && !updatesAfterRun() && !span.onlyReads;
  }
  Accumulators throughState(TileBuilder &builder, VectorProgram &queries, BlockVectors &vectors,
                            const BlockSpan &span, mlir::Value &diagonal);
  void decayState(TileBuilder &builder, Accumulators &accumulators, const BlockSpan &span,
                  const BlockDecay &decay);
  void addPairs(TileBuilder &builder, Accumulators &accumulators, mlir::Value scores,
                mlir::Value values, tile::Triangle triangle, mlir::Value bound);
  void addNearPairs(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys,
                    mlir::Value values, mlir::Value diagonal, const BlockSpan &span,
                    const BlockDecay &decay, Accumulators &accumulators);
  /// Pairs with the blocks of keys in [from, to), the nearest one first, or with all keys.
  void addBlocks(TileBuilder &builder, VectorProgram &queries, mlir::Value from, mlir::Value to,
                 bool local, const BlockDecay &decay, mlir::Value &between,
                 Accumulators &accumulators, KeySource source = KeySource::Call);
  mlir::Value scores(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys, bool local,
                     tile::Triangle triangle, const PairDecay &decay);
  void addDiagonalWithProducts(TileBuilder &builder, VectorProgram &queries,
                               Accumulators &accumulators, mlir::Value scores, mlir::Value values,
                               mlir::Value bound);
  mlir::Value visibleKeys(TileBuilder &builder, const BlockSpan &span) const;
  /// The head whose gates the state has, and so the head of the state.
  mlir::Value stateHead() const;

  mutable AttendOp op; // its accessors are not const
  Schedule schedule;
  const ProgramContext &context;
  FeaturePlan queryPlan, keyPlan;
  int64_t valueWidth;
  std::vector<double> queryWeights, keyWeights;
  std::optional<ContractedState> contracted; // where the schedule says so
  BlockState state;
  std::optional<SegmentStates> segmentStates;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ATTENDPROGRAM_H

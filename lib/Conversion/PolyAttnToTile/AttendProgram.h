//===- AttendProgram.h - one attention inside a tile kernel -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The block form of PolySketchFormer, section 3.1, for one `attend`. Pairs of a block of
// queries with keys before it go through the state (StateProgram.h), pairs inside the block through
// scores or features. The quadratic form is the same without a state: all pairs
// through scores.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ATTENDPROGRAM_H
#define POLYATTN_CONVERSION_ATTENDPROGRAM_H

#include "Accumulators.h"
#include "ScoreProgram.h"
#include "StateProgram.h"
#include "dialects/PolyAttn/StateTerms.h"
#include "polyattn/Schedule/ContractedState.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

/// What a call of one token needs: features of queries and of keys, and values. As workspaces these
/// are [B, H, D], [B, Hkv, D] and [B, Hkv, dv], as tiles of one batch and head rows.
struct StepVectors {
  mlir::Value query, key, value;
};

/// Some features of a query, and the sums that they meet.
struct StateReading {
  StateProgram *state;
  StateTerm term;
  /// Whether the state's keys come into it with the loop that reads it.
  bool updates = false;
  /// The query's features that are read here, and what they are multiplied by.
  FeaturePlan queries = {};
  std::vector<double> weights = {};
};

/// The vectors of a block, formed as far as all blocks of features need them.
struct BlockVectors {
  VectorProgram keys;
  mlir::Value values; // null under a full mask, where the state is there already
  BlockDecay decay;
  std::vector<FeatureBlocks> queryFeatures; // one for each reading
  FeatureBlocks keyFeatures;
};

class AttendProgram {
public:
  /// `readings` are none in the quadratic form, and with `block_states`.
  AttendProgram(AttendOp op, const Schedule &schedule, std::vector<StateReading> readings,
                const ProgramContext &context);

  /// What all parts of a block need; called before `block`.
  BlockVectors vectors(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span);
  /// The accumulators of one block of queries, or of the part at hand.
  Accumulators block(TileBuilder &builder, VectorProgram &queries, BlockVectors &vectors,
                     const BlockSpan &span);
  /// o = N over the denominator, [C x dv]. Fills in `factors`, if it is not null.
  mlir::Value normalize(TileBuilder &builder, const Accumulators &accumulators,
                        const BlockSpan &span, RowFactors *factors);
  bool normalized() const { return op.getNormalizer().hasDenominator(); }
  int64_t getValueWidth() const { return valueWidth; }
  /// The state that the attend reads as it is; null where it reads none, or views of some.
  StateProgram *getState() const;

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
  /// Like `step`, but reads the state before this token's update, and adds the token's own pair and
  /// those with its local block by scores.
  Accumulators stepBefore(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                          VectorProgram &queries, const BlockSpan &span);

private:
  bool isLocal() const { return bool(op.getLocalQuery()); }
  bool usesState() const { return schedule.form != ScheduleForm::Quadratic; }
  /// The state is that before the block's segment, whose pairs go by scores.
  bool readsSegmentStart() const { return context.chunk && usesState(); }
  /// The states are those that a tensor has after each block, and none are summed up.
  bool readsStatesInRows() const { return usesState() && op.getBlockStates(); }
  /// Keys come into the state, or into that of rows, at the end of a whole run of blocks.
  bool updatesAfterRun() const {
    return usesState() && context.isOrdered() && isLocal() && context.runsAreLong();
  }
  /// One tile has all features.
  bool formsAllFeatures() const {
    return context.share->isAll() && features() <= schedule.featureBlock && readings.size() == 1 &&
           !readings[0].term.isTransposed;
  }
  bool featuresOnDiagonal() const {
    return usesState() && !readsStatesInRows() && schedule.diagonal == ScheduleDiagonal::Features &&
           !isLocal();
  }
  /// Whether the scores of one block are computed by one part of the features, those of the next by
  /// another: they are no sum over features.
  bool partsTakeTurns() const {
    return context.isOrdered() && !context.share->isAll() && (contracted || !featuresOnDiagonal());
  }
  int64_t features() const { return queryPlan.monomials.size(); }
  Accumulators zeroAccumulators(TileBuilder &builder) const;
  void storeFeatures(TileBuilder &builder, const FeaturePlan &plan,
                     const std::vector<double> &weights, mlir::Value tensor, mlir::Value head,
                     VectorProgram &program);
  mlir::Value featureRow(TileBuilder &builder, const FeaturePlan &plan,
                         const std::vector<double> &weights, VectorProgram &program) const;
  mlir::Value stepNormalizer(TileBuilder &builder, mlir::Value before, mlir::Value keys,
                             mlir::Value factor, const StoredState &stored) const;
  Accumulators stepState(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                         bool before) const;
  mlir::Value runDecay(TileBuilder &builder, const BlockSpan &span);
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
  void planQueries();
  void planContraction();
  Accumulators throughContractedState(TileBuilder &builder, VectorProgram &queries,
                                      VectorProgram &keys, const BlockSpan &span,
                                      const BlockDecay &decay);
  /// Rows of queries as they lie in memory are the left operand: nothing to transpose.
  bool readsRowsOfQueries(const FeatureBlocks &queries) const {
    return formsAllFeatures() && queries.areRowMajor();
  }
  void prepareQueryFeatures(TileBuilder &builder, VectorProgram &queries, FeatureBlocks &features,
                            const StateProgram &state, const BlockSpan &span);
  void prepareScoresOf(VectorProgram &queries);
  Accumulators throughState(TileBuilder &builder, VectorProgram &queries, BlockVectors &vectors,
                            const BlockSpan &span, mlir::Value &diagonal);
  void readRows(TileBuilder &builder, const StateReading &reading, VectorProgram &queries,
                FeatureBlocks &queryFeatures, BlockVectors &vectors, const BlockSpan &span,
                llvm::SmallVector<mlir::Value> &sums);
  mlir::Value readTransposed(TileBuilder &builder, const StateReading &reading,
                             VectorProgram &queries, FeatureBlocks &queryFeatures,
                             const BlockSpan &span);
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

  mutable AttendOp op; // its accessors are not const
  Schedule schedule;
  const ProgramContext &context;
  Gates gates;
  int64_t valueWidth;
  std::vector<StateReading> readings;
  FeaturePlan queryPlan;
  std::vector<double> queryWeights;
  std::optional<ContractedState> contracted; // where the schedule says so
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ATTENDPROGRAM_H

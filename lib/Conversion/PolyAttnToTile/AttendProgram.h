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

#include "ContractedBlock.h"
#include "PairProgram.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

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

  /// What all parts of a block need; called before `block`. The attends of a block share both
  /// sides' vectors.
  BlockVectors vectors(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys,
                       const BlockSpan &span);
  /// The accumulators of one block of queries, or of the part at hand.
  Accumulators block(TileBuilder &builder, VectorProgram &queries, BlockVectors &vectors,
                     const BlockSpan &span);
  /// Sums of no pairs.
  Accumulators zeroAccumulators(TileBuilder &builder) const;
  bool normalized() const { return op.getNormalizer().hasDenominator(); }
  /// The state that the attend reads as it is; null where it reads none, or views of some.
  StateProgram *getState() const;
  AttendOp getOp() const { return op; }
  const ProgramContext &getContext() const { return context; }
  PairProgram &getPairs() { return pairs; }
  FeatureBlocks queryFeatures() const { return FeatureBlocks(queryPlan, queryWeights); }
  int64_t features() const { return queryPlan.monomials.size(); }
  /// Multiplies what came through the state by its decay since the sweep came to the segment or to
  /// the run of blocks, or else to the block.
  void decayState(TileBuilder &builder, Accumulators &accumulators, const BlockSpan &span,
                  const BlockDecay &decay);

private:
  bool usesState() const { return schedule.form != ScheduleForm::Quadratic; }
  /// The states are those that a tensor has after each block, and none are summed up.
  bool readsStatesInRows() const { return usesState() && op.getBlockStates(); }
  /// Keys come into the state, or into that of rows, at the end of a whole run of blocks.
  bool updatesAfterRun() const {
    return usesState() && context.isOrdered() && pairs.isLocal() && !op.getSliding() &&
           context.runsAreLong();
  }
  /// Pairs inside of a block that come with the reading of the state; null where they have scores.
  const PairsOfFeatures *pairsOfFeatures() const {
    return readings.empty() ? nullptr : readings[0].state->getUpdate().pairsOfFeatures();
  }
  /// One tile has all features.
  bool formsAllFeatures() const {
    return context.share->isAll() && features() <= schedule.featureBlock && readings.size() == 1 &&
           !readings[0].term.isTransposed;
  }
  bool featuresOnDiagonal() const {
    return usesState() && !readsStatesInRows() && schedule.diagonal == ScheduleDiagonal::Features &&
           !pairs.isLocal();
  }
  /// Whether the scores of one block are computed by one part of the features, those of the next by
  /// another: they are no sum over features.
  bool partsTakeTurns() const {
    return context.isOrdered() && !context.share->isAll() && (contracted || !featuresOnDiagonal());
  }
  mlir::Value runDecay(TileBuilder &builder, const BlockSpan &span);
  void planQueries();
  /// Rows of queries as they lie in memory are the left operand: nothing to transpose.
  bool readsRowsOfQueries(const FeatureBlocks &queries) const {
    return formsAllFeatures() && queries.areRowMajor() && !pairsOfFeatures();
  }
  void prepareQueryFeatures(TileBuilder &builder, VectorProgram &queries, FeatureBlocks &features,
                            const StateProgram &state, const BlockSpan &span);
  Accumulators throughState(TileBuilder &builder, VectorProgram &queries, BlockVectors &vectors,
                            const BlockSpan &span, mlir::Value &diagonal);
  void readRows(TileBuilder &builder, const StateReading &reading, VectorProgram &queries,
                FeatureBlocks &queryFeatures, BlockVectors &vectors, const BlockSpan &span,
                llvm::SmallVector<mlir::Value> &sums);
  void readAndAdd(TileBuilder &builder, const StateReading &reading, VectorProgram &queries,
                  FeatureBlocks &queryFeatures, BlockVectors &vectors, const BlockSpan &span,
                  llvm::SmallVector<mlir::Value> &sums);
  mlir::Value readTransposed(TileBuilder &builder, const StateReading &reading,
                             VectorProgram &queries, FeatureBlocks &queryFeatures,
                             const BlockSpan &span);
  mutable AttendOp op; // its accessors are not const
  Schedule schedule;
  const ProgramContext &context;
  Gates gates;
  PairProgram pairs;
  int64_t valueWidth;
  std::vector<StateReading> readings;
  FeaturePlan queryPlan;
  std::vector<double> queryWeights;          // the numbers by which features are multiplied
  std::optional<ContractedBlock> contracted; // where the schedule says so
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ATTENDPROGRAM_H

//===- Schedule.h - how one attention is computed ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_SCHEDULE_H
#define POLYATTN_SCHEDULE_SCHEDULE_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Schedule/Accuracy.h"

namespace polyattn {

struct Schedule;

/// The sizes of one attention that the choices depend on.
struct AttentionShape {
  int64_t features = 0;   // D
  int64_t valueWidth = 0; // dv
  int64_t scoreWidth = 0; // multiply-adds of one score in its score form
  bool hasScoreForm = false;
  bool hasFeatures = true;     // false where only scores exist (|score|, row_max), or local pairs
  bool localAlone = false;     // pairs by local vectors alone
  bool needsState = false;     // a state is asked in or out
  bool decaysFeatures = false; // each by itself: pairs have no score of a number times a decay
  bool isOrdered = true;       // a causal or an anticausal mask
  int64_t localBlock = 0;      // the block of a local kernel, 0 without
  bool slides = false;         // it is the number of keys that each query has local scores with
  int64_t localScoreWidth = 0; // multiply-adds of one of its scores
  bool isBF16 = false;         // tensor cores multiply in it: all sequences are, nothing is kept
  bool givesGradients = false; // its entry is a backward one
  double queryLeaves = 0;      // multiply-adds of forming one query,
  double keyLeaves = 0;        // and one key
  RowErrors errors = {0, 0};   // what f32 leaves of a row
  /// Features and width of the state that is contracted; 0 where there is none.
  int64_t contractedFeatures = 0, contractedWidth = 0;
  bool isContracted = false; // `features` are those of that state

  static AttentionShape of(AttendOp attend);
  /// With the state that the schedule says.
  static AttentionShape of(AttendOp attend, const Schedule &schedule);
  /// The same with the contracted state.
  AttentionShape contracted() const;
  /// Numbers of the state for each feature.
  int64_t stateWidth() const { return isContracted ? contractedWidth : valueWidth; }
  /// The positions that see each other through scores in every form: a block, or a local kernel's.
  int64_t runOf(int64_t block) const { return std::max(block, localBlock); }
  /// The positions that no block may go beyond, 0 without.
  int64_t fixedBlock() const { return slides ? 0 : localBlock; }
  /// Whether a state would lose more digits than results may.
  bool wantsScores() const { return hasScoreForm && errors.state > kPromisedError; }
};

/// Whether gradients take a small difference of what an attend gives and of something as large, so
/// that they are off by what its products have rounded in relation to that difference: products do
/// not round. Of a mean that is kept they subtract the values that it is the mean of; from the
/// products of its sums with rows, those of another attend with columns.
bool isTakenInDifferences(AttendOp attend);

/// The precision that the attends of a body ask for, for all products of the body: f32 if one of
/// them asks for it or is taken in differences, bf16 if all ask for it, otherwise none.
std::optional<ProductPrecision> askedPrecision(mlir::Block &body);

/// The fields of `#polyattn.schedule`.
struct Schedule {
  ScheduleForm form = ScheduleForm::State;
  ScheduleDiagonal diagonal = ScheduleDiagonal::Scores;
  int64_t block = 64; // positions per tile
  int64_t featureBlock = 64;
  int64_t quadraticBelow = 0; // with Both: the quadratic form for fewer positions
  /// Lengths of short blocks, ascending: a call of at most that many positions is one block.
  llvm::SmallVector<int64_t, 2> shortBlocks = {};
  bool contracted = false;     // the state is that of ContractedState
  int64_t segment = 0;         // with Chunkwise: positions between states
  mlir::FloatType states = {}; // with Chunkwise: how these are stored; null for f32

  static Schedule of(ScheduleAttr attribute);
  ScheduleAttr toAttribute(mlir::MLIRContext *context) const;
  /// The same of fields that a user may have chosen: null with an error where they do not fit.
  ScheduleAttr toAttribute(mlir::MLIRContext *context,
                           llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;
  /// Null where there are none.
  mlir::DenseI64ArrayAttr shortBlocksAttribute(mlir::MLIRContext *context) const;
};

/// The positions of a block beside a local window of so many that slides. They need not divide the
/// window: pairs on its edges have both scores.
int64_t blockOfSlidingWindow(int64_t positions);

/// What the choice weighs: multiply-adds, the only place that says what they are. Forming the
/// vectors costs the same in every form and is left out. (Cost.h counts something else: the
/// operations that the algorithm needs, for rates.)
struct ScheduleCosts {
  double scorePair;   // a pair whose score is formed alone, as every pair of the quadratic form
  double featurePair; // a pair whose score is formed from features that are there anyway
  // Per position and query head:
  double state;                // the state is read and updated
  double diagonalByScores;     // pairs of one block
  double diagonalByFeatures;   // the same from features
  double quadraticPerPosition; // all pairs: times T
  double block;                // what a block costs by itself, its share of a position

  static ScheduleCosts of(const AttentionShape &shape, int64_t block);
};

/// How long a call takes in each form: multiply-adds over the rate at which a machine does them,
/// relative to that of products with a state.
struct FormTimes {
  double state, quadratic;

  static FormTimes of(const AttentionShape &shape, const Schedule &schedule, int64_t positions,
                      bool tensorCores = false);
};

/// Multiply-adds of one position of a query head: its vectors, the state and its pairs. `prefix` is
/// those of a kernel that only adds up what the keys put into the state.
struct PositionCosts {
  double prefix, all;

  static PositionCosts of(AttendOp attend, const Schedule &schedule);
};

/// The most features of a state that the schedule chooses where none is asked for.
constexpr int64_t kMaxScheduledFeatures = int64_t(1) << 17;

/// The first level cache of the machines at hand where nothing is known of them.
constexpr int64_t kUsualL1Bytes = 32 * 1024;

/// What the choice knows of the machine.
struct ScheduleMachine {
  /// Shared memory where there are tensor cores.
  int64_t l1Bytes = kUsualL1Bytes;
  /// Products cost by whole fragments: a block has 64 or 128 positions unless a local kernel's
  /// block says otherwise, and blocks of features are multiples of 64.
  bool tensorCores = false;
  /// The positions of the longest call that is one block, without a state; 0 where short calls have
  /// blocks like any other.
  int64_t shortBlock = 0;
};

Schedule chooseSchedule(const AttentionShape &shape, const ScheduleMachine &machine = {});

/// What the attend carries, or else the choice; never without a form that exists.
Schedule scheduleOf(AttendOp attend, const ScheduleMachine &machine = {});

/// Why this attend cannot have the form `chunkwise`, whatever is computed beside it; empty where it
/// can.
llvm::StringRef noChunks(AttendOp attend);

/// The features of a state whose sums four warps of a GPU have registers for. Two or three programs
/// of four warps share a multiprocessor, which eight warps would have to themselves.
int64_t carriedFeatures(int64_t valueWidth);
/// The most features that a program of the form `chunkwise` has memory for at a time.
inline constexpr int64_t kMostChunkFeatures = 256;

/// Schedules of the form `chunkwise` for attends that one kernel computes, where these are faster
/// than states that pass from block to block; none where they are not.
std::optional<std::vector<Schedule>> chooseChunkwise(llvm::ArrayRef<AttendOp> attends,
                                                     const ScheduleMachine &machine);

/// Why calls of this attention cannot be one short block of `length` positions; empty where they
/// can.
llvm::StringRef noShortBlock(const AttentionShape &shape, int64_t length);

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_SCHEDULE_H

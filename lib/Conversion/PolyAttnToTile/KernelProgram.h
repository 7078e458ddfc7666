//===- KernelProgram.h - what one program of a kernel does ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All attends of an attention, block by block: what each of them does with a block is
// AttendProgram, what becomes of their outputs are the attention's results.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELPROGRAM_H
#define POLYATTN_CONVERSION_KERNELPROGRAM_H

#include "AttendProgram.h"
#include "KernelInfo.h"
#include <deque>

namespace polyattn {

class KernelProgram {
public:
  /// `form` is that of attends that may have either one.
  KernelProgram(const KernelInfo &info, ScheduleForm form, const ProgramContext &context);
  /// A call whose positions fit one block of `length`: all pairs by scores, no state and no loops,
  /// in one program for each head.
  static void buildOneBlock(TileBuilder &builder, const KernelInfo &info,
                            const ProgramContext &context, int64_t length);

  KernelProgram(const KernelProgram &) = delete;

  /// The loops over the program's positions, and the final states.
  void build(TileBuilder &builder);
  /// One block of queries at `position`, whose states `stateOf` finds in tensors.
  void buildChunk(TileBuilder &builder, mlir::Value position,
                  llvm::function_ref<StoredState(StateOp)> stateOf);
  /// Stores what the program's segment adds to the states.
  void buildPrefix(TileBuilder &builder);
  /// A call of at most one token: states are updated where they live, by the program of the first
  /// query head that shares them (TokenKernels.cpp).
  void buildStep(TileBuilder &builder);
  /// A call of few tokens, whose states are updated where they live by the same program.
  void buildFewTokens(TileBuilder &builder);
  /// Stores what a call of one token needs of the vectors of some batches.
  void buildStepVectors(TileBuilder &builder);
  /// Copies final states from workspaces to where they live (PlacedStateKernels.cpp).
  void buildWriteBack(TileBuilder &builder);
  /// Adds what the parts of a head have stored (SplitKernels.cpp).
  void buildCombination(TileBuilder &builder);
  /// Adds what the query heads of a group have stored (GroupSums.cpp).
  void buildGroupSums(TileBuilder &builder);

private:
  KernelProgram(const KernelInfo &info, llvm::ArrayRef<Schedule> schedules,
                const ProgramContext &context);
  void makePrograms(llvm::ArrayRef<Schedule> schedules);
  StateProgram &stateOf(StateOp op);
  StateProgram &stateOf(AttendOp attend);
  void bindSegmentSums();
  void buildStates(TileBuilder &builder);
  void sweepBlocks(TileBuilder &builder);
  void block(TileBuilder &builder, const BlockSpan &span);
  void blockOfHead(TileBuilder &builder, const BlockSpan &span);
  void blocksOfRun(TileBuilder &builder, const Sweep &run);
  void takeIn(TileBuilder &builder, const Sweep &positions, KeySource source);
  mlir::Value endOfUpdates(TileBuilder &builder, const Sweep &run) const;
  void finish(TileBuilder &builder);
  void storeFinalStates(TileBuilder &builder);
  void storeProducts(TileBuilder &builder, llvm::ArrayRef<Accumulators> accumulators,
                     const BlockSpan &span);
  mlir::Value workspaceOf(mlir::Value saved) const;
  mlir::Value tensorOfState(unsigned result) const;
  enum class FinalPart { State, Normalizer };
  llvm::SmallVector<mlir::Value> tensorsOf(AttendOp attend, FinalPart part) const;
  mlir::Value partsOfState(AttendOp attend) const;
  FinalState placeOf(AttendOp attend) const;
  StepVectors stepVectors(unsigned attend) const;
  /// Where a step has the features of its token from.
  enum class StepFeatures { Computed, Loaded };
  mlir::Value batchesFrom(TileBuilder &builder, mlir::Value first) const;
  void stepToken(TileBuilder &builder, StepFeatures features);
  void stepHead(TileBuilder &builder, llvm::MutableArrayRef<StepVectors> rows,
                StepFeatures features);
  void computeStepKeys(TileBuilder &builder, llvm::MutableArrayRef<StepVectors> rows,
                       StepFeatures features);
  void stepOtherHeads(TileBuilder &builder, StepFeatures features);
  void forOtherHeads(TileBuilder &builder, TileBuilder::Branch body);
  void takeInFullBlock(TileBuilder &builder);
  void storeZeros(TileBuilder &builder, int64_t rows);
  void writeBackStates(TileBuilder &builder);
  void ifStatesChange(TileBuilder &builder, TileBuilder::Branch body);
  void storeCached(TileBuilder &builder);
  void storeCached(TileBuilder &builder, bool ofQueries);
  void storeResults(TileBuilder &builder, llvm::ArrayRef<Accumulators> accumulators,
                    VectorProgram &queries, const BlockSpan &span);
  void storeResult(TileBuilder &builder, VectorProgram &queries, mlir::Value vector,
                   mlir::Value tensor, mlir::Value column, const BlockSpan &span);
  void loadImported(TileBuilder &builder, VectorProgram &rows, const BlockSpan &span);
  void storeExported(TileBuilder &builder, VectorProgram &rows, const BlockSpan &span);
  void storeFactors(TileBuilder &builder, const RowFactors &factors, mlir::Value tensor,
                    const BlockSpan &span);
  void storeGroupPart(TileBuilder &builder, TileBuilder::Branch results, TileBuilder::Branch part);
  void storePart(TileBuilder &builder, llvm::ArrayRef<Accumulators> accumulators,
                 const BlockSpan &span);
  /// The sums of `count` parts, whose first indices `indicesOf` gives, before those of the column.
  llvm::SmallVector<Accumulators>
  addParts(TileBuilder &builder, mlir::Value count, const BlockSpan &span,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> indicesOf);

  const KernelInfo &info;
  const ProgramContext context;
  std::deque<StateProgram> states; // those that attends read in this form
  std::vector<AttendProgram> programs;
  /// States that no reader's loop updates: they take in the block's keys after the last read.
  std::vector<StateProgram *> updatedAfterReads;
  struct Beside;
  std::shared_ptr<Beside> beside; // null where the kernel has no such region
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELPROGRAM_H

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
                  llvm::function_ref<StoredState(StateUpdateInterface)> stateOf);
  /// The same where no attend has a state.
  void buildRows(TileBuilder &builder, mlir::Value position);
  /// Stores what the program's segment adds to the states.
  void buildPrefix(TileBuilder &builder);
  /// Writes the results of a block of rows whose sums other programs have stored.
  void storeSums(TileBuilder &builder, const BlockSpan &span,
                 llvm::ArrayRef<Accumulators> accumulators);
  /// The state that an attend reads as it is.
  StateProgram &stateOf(AttendOp attend);
  /// The tensors that take an attend's final state.
  llvm::SmallVector<mlir::Value> tensorsOfState(AttendOp attend) const;

protected:
  void sweepBlocks(TileBuilder &builder);
  void takeIn(TileBuilder &builder, const Sweep &positions, KeySource source);
  void storeResults(TileBuilder &builder, llvm::ArrayRef<Accumulators> accumulators,
                    VectorProgram &queries, const BlockSpan &span);

  const KernelInfo &info;
  const ProgramContext context;
  std::deque<StateProgram> states; // those that attends read in this form
  std::vector<AttendProgram> programs;

private:
  KernelProgram(const KernelInfo &info, llvm::ArrayRef<Schedule> schedules,
                const ProgramContext &context);
  void makePrograms(llvm::ArrayRef<Schedule> schedules);
  StateProgram &stateOf(StateUpdateInterface op);
  void bindSegmentSums();
  void buildStates(TileBuilder &builder);
  void block(TileBuilder &builder, const BlockSpan &span);
  void blockOfHead(TileBuilder &builder, const BlockSpan &span);
  void blocksOfRun(TileBuilder &builder, const Sweep &run);
  mlir::Value endOfUpdates(TileBuilder &builder, const Sweep &run) const;
  void finish(TileBuilder &builder);
  void storeFinalStates(TileBuilder &builder);
  void storeProducts(TileBuilder &builder, llvm::ArrayRef<Accumulators> accumulators,
                     const BlockSpan &span);
  enum class FinalPart { State, Normalizer };
  llvm::SmallVector<mlir::Value> tensorsOf(AttendOp attend, FinalPart part) const;
  void storeResult(TileBuilder &builder, VectorProgram &queries, mlir::Value vector,
                   mlir::Value tensor, mlir::Value column, const BlockSpan &span);
  void sumImportedHeads(TileBuilder &builder, VectorProgram &rows, const BlockSpan &span);
  void storeExported(TileBuilder &builder, VectorProgram &rows, const BlockSpan &span);
  void storeFactors(TileBuilder &builder, const RowFactors &factors, mlir::Value tensor,
                    const BlockSpan &span);

  /// States that no reader's loop updates: they take in the block's keys after the last read.
  std::vector<StateProgram *> updatedAfterReads;
  struct Beside;
  std::shared_ptr<Beside> beside; // null where the kernel has no such region
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELPROGRAM_H

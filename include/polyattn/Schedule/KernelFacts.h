//===- KernelFacts.h - the attends and results of a kernel op ---*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_KERNELFACTS_H
#define POLYATTN_SCHEDULE_KERNELFACTS_H

#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

/// A result of the entry that a kernel computes.
struct Output {
  unsigned number;   // among the entry's results
  mlir::Value value; // that the kernel yields
};

/// One region of a kernel op: its attends, their schedules and states, and its results.
/// A kernel without attends has rows that no attend reaches.
struct KernelFacts : AttendKind {
  KernelFacts() = default;
  KernelFacts(KernelOp kernel, mlir::Region &region);

  mutable AttentionOp attention; // its accessors are not const
  mutable KernelOp kernel;
  llvm::SmallVector<AttendOp> attends;
  llvm::SmallVector<Schedule> schedules;          // one for each
  llvm::SmallVector<StateUpdateInterface> states; // that they read, each once
  int64_t run = 0;                                // the block of the local kernels, 0 without
  std::vector<Output> outputs;
  bool sumsWeights = false; // it has terms of gradients of weights
  bool savesValues = false; // gradients of decays and of shared states read results
  bool hasRows = false;     // it has other results than states

  llvm::StringRef name() const { return kernel.getKernelName(); }
  bool isRowsAlone() const { return attends.empty(); }
  /// Some state belongs to a query head.
  bool hasStatePerQuery() const;
  /// Calls of at most so many positions are one block, for all attends.
  llvm::SmallVector<int64_t> shortBlocks() const;
  /// The positions of a block.
  int64_t block() const { return blockLength; }
  /// The least number of positions for which all have their state; 0 where they always have.
  int64_t quadraticBelow() const;
  /// The positions of a segment where blocks are computed each by itself; 0 in other forms.
  int64_t segment() const { return chunks().segment; }
  /// The schedule of the attends in the form `chunkwise`; another one where there are none.
  Schedule chunks() const;

  //===--- How a launch may cut it: CutKernels.cpp chooses, the lowering checks ------===//
  /// Into how many programs a head can be cut by its features; 1 where it cannot.
  int64_t mostSplits() const;
  /// Whether states with rows hold all that a segment needs of the segments behind it.
  bool canCutPositions() const;
  /// How many programs can share the features of all attends, with whole blocks each.
  int64_t mostInCluster() const;
  /// Whether no block of rows needs what another one has computed: there is no state in any form.
  bool canCutBlocks() const;

  //===--- Calls of few tokens: StepKernels.cpp chooses, the lowering checks ---------===//
  /// Whether rows of some attends come from a window without a state.
  bool hasWindows() const;
  /// Whether one token can update the states where they live. `sameHeads` is the entry's.
  bool canStep(bool sameHeads) const;
  /// Whether some more tokens can, one after another in one program.
  bool canStepOneByOne() const;
  /// Whether some more tokens can, as one block of `few`.
  bool canStepFew(int64_t few) const;
  /// Whether the queries of a token read states before its key comes in: its pair with itself, and
  /// those with its local block, come from scores. Otherwise they read them afterwards.
  bool readsStatesFirst() const;
  /// Whether features are products with weights, which a kernel before the steps can compute for
  /// many batches.
  bool sharesVectors() const;

private:
  int64_t blockLength = 0;
};

/// Whether an attend goes by scores alone in every form: it neither reads nor gives a state.
bool hasScoresAlone(AttendOp attend, const Schedule &schedule);

/// The positions of a block of attends that one kernel computes together: the shortest block of
/// their schedules, and no more than a local kernel's.
int64_t blockOf(llvm::ArrayRef<AttendOp> attends);

/// The values that an attention returns.
mlir::OperandRange returnedBy(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_KERNELFACTS_H

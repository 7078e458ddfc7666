//===- KernelFacts.h - what a kernel op computes, and how --------*- C++ -*-===//
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

/// One region of a kernel op: its attends, their schedules and states, and what is asked of them.
/// A kernel without attends has rows that no attend reaches.
struct KernelFacts {
  KernelFacts() = default;
  KernelFacts(KernelOp kernel, mlir::Region &region);

  mutable AttentionOp attention; // its accessors are not const
  mutable KernelOp kernel;
  Mask mask = Mask::Causal;
  /// Rows are those of keys, and sums over groups of query heads.
  bool ofKeys = false;
  /// Blocks may be computed in any order, from states that are given.
  bool readsStates = false;
  llvm::SmallVector<AttendOp> attends;
  llvm::SmallVector<Schedule> schedules; // one for each
  llvm::SmallVector<StateOp> states;     // that they read, each once
  int64_t run = 0;                       // the block of the local kernels, 0 without
  std::vector<Output> outputs;
  bool sumsWeights = false; // it has terms of gradients of weights
  bool savesValues = false; // gradients of decays and of shared states read results
  bool hasRows = false;     // anything is asked of rows, and not of states alone

  llvm::StringRef name() const { return kernel.getKernelName(); }
  bool isRowsAlone() const { return attends.empty(); }
  /// Some state belongs to a query head.
  bool hasStatePerQuery() const;
  /// Calls of at most so many positions are one block, for all attends.
  llvm::SmallVector<int64_t> shortBlocks() const;
  /// The positions of a block.
  int64_t block() const;
  /// The least number of positions for which all have their state; 0 where they always have.
  int64_t quadraticBelow() const;
  /// The positions of a segment where blocks are computed each by itself; 0 in other forms.
  int64_t segment() const { return isRowsAlone() ? 0 : schedules[0].segment; }

  //===--- How a launch may cut it: CutKernels.cpp chooses, the lowering checks ------===//
  /// Into how many programs a head can be cut by its features; 1 where it cannot.
  int64_t mostSplits() const;
  /// Whether a segment of positions needs all that those behind it say in states with rows.
  bool canCutPositions() const;
  /// How many programs can share the features of all attends, with whole blocks each.
  int64_t mostInCluster() const;

  //===--- Calls of few tokens: StepKernels.cpp chooses, the lowering checks ---------===//
  /// Whether one token can update the states where they live. `sameHeads` is the entry's.
  bool canStep(bool sameHeads) const;
  /// Whether some more tokens can, as one block of `few`.
  bool canStepFew(int64_t few) const;
  /// Whether the pair of a token with itself, and those with a local block, come from scores.
  bool scoresNearPairs() const;
  /// Whether features are products with weights, which a kernel before the steps can compute for
  /// many batches.
  bool sharesVectors() const;
};

/// What an attention returns.
mlir::OperandRange returnedBy(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_KERNELFACTS_H

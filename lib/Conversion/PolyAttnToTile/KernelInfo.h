//===- KernelInfo.h - what a kernel op asks of its lowering -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELINFO_H
#define POLYATTN_CONVERSION_KERNELINFO_H

#include "KernelFrame.h"
#include "dialects/PolyAttn/Kernels.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

/// What the positions of a kernel's rows add to the gradient of a weight.
struct WeightSum {
  mutable WeightGradientOp gradient; // its accessors are not const
  mlir::Value result;                // of the kernel
  /// Whether the sum is that of dy x^T: x is there in rows, and dy is not.
  bool transposed = false;
};

/// A kernel's result that kernels after it read from a workspace: a vector, products of rows, or a
/// final state.
struct StoredResult {
  mlir::Value result;
  std::string name; // of the workspace

  /// What the kernel yields.
  mlir::Value value() const { return yieldedValue(result); }
  /// The workspace of a vector, [B, T, H, width] in f32, whatever tensors hold.
  HiddenArgument workspaceOfRows(mlir::Builder &builder) const;
};

/// A result of the entry that a kernel computes.
struct Output {
  unsigned number;   // among the entry's results
  mlir::Value value; // that the kernel yields
};

/// One region of a kernel op: its attends, their schedules and states, and what becomes of its
/// results. A kernel without attends has rows that no attend reaches.
struct KernelInfo {
  KernelInfo() = default;

  mutable AttentionOp attention; // its accessors are not const
  mutable KernelOp kernel;
  Mask mask = Mask::Causal;
  /// Rows are those of keys, and sums over groups of query heads (GroupSums.cpp).
  bool ofKeys = false;
  /// Blocks may be computed in any order, from states that are given.
  bool readsStates = false;
  llvm::SmallVector<AttendOp> attends;
  llvm::SmallVector<Schedule> schedules; // one for each
  llvm::SmallVector<StateOp> states;     // that they read, each once
  KernelTensors tensors;
  int64_t run = 0; // the block of the local kernels, 0 without
  std::vector<Output> outputs;
  std::vector<WeightSum> sums;
  /// Results that gradients of decays and of shared states read; of grouped heads the kernel that
  /// adds up the groups writes the sums.
  std::vector<StoredResult> saved, savedSums;
  /// Rows that later kernels read, and rows of kernels before this one.
  std::vector<StoredResult> exported, imported;

  /// The region `beside`; null without one.
  std::shared_ptr<const KernelInfo> beside;

  /// The kernels of an attention, in their order. Fails with a diagnostic where tile kernels cannot
  /// compute one.
  static mlir::FailureOr<std::vector<KernelInfo>> allOf(AttentionOp attention);

  llvm::StringRef name() const { return kernel.getKernelName(); }
  /// Kernels that have rows of results: those of heads alone, and of groups of heads.
  int64_t countKernels() const { return ofKeys ? 2 : 1; }
  /// The programs of a kernel that computes all of a head.
  KernelPrograms programs() const { return {{}, /*keyHeads=*/ofKeys, /*inParts=*/!sums.empty()}; }
  bool isRowsAlone() const { return attends.empty(); }
  /// The sums of weights' gradients that the kernel has, those of the region `beside` last.
  size_t countSums() const { return sums.size() + (beside ? beside->sums.size() : 0); }
  /// Whether anything is asked of rows, and not of states alone.
  bool hasRows() const;
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
  /// The workspaces of programs that share rows of keys: of the rows, if any are asked for, and of
  /// the final states of `groupAttends`.
  llvm::SmallVector<HiddenArgument> groupTensors(mlir::Builder &builder) const;
  /// The attends whose final states are sums over groups of query heads.
  llvm::SmallVector<AttendOp> groupAttends() const;
  /// Whether a kernel after this one reads an attend's final state.
  bool savesSum(AttendOp attend) const;
  bool savesValues() const { return !saved.empty() || !savedSums.empty(); }

private:
  KernelInfo(AttentionOp attention, KernelOp kernel, mlir::Region &region);
  void findResults(mlir::Region &region);
  mlir::LogicalResult complete(bool sameHeads);
  mlir::LogicalResult add(AttendOp attend);
  mlir::LogicalResult findSequences();
  mlir::LogicalResult findRowsAlone();
  void describeTensors(bool sameHeads);
  mlir::LogicalResult checkSegments() const;
  AttendOp first() const { return attends[0]; }
  bool hasEqualSides() const { return tensors.sameHeads && mask != Mask::Full; }
};

/// What an attention returns.
mlir::OperandRange returnedBy(AttentionOp attention);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELINFO_H

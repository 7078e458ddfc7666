//===- AttendSet.h - the attends that one program computes ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ATTENDSET_H
#define POLYATTN_CONVERSION_ATTENDSET_H

#include "KernelFrame.h"
#include "polyattn/Schedule/Schedule.h"

namespace polyattn {

/// What the positions of a set's queries add to the gradient of a weight.
struct WeightSum {
  mutable WeightGradientOp gradient; // its accessors are not const
  llvm::SmallVector<size_t> terms;   // of its pairs
  /// Whether the sum is that of dy x^T: x is there in rows, and dy is not.
  bool transposed = false;
};

/// A value that a kernel saves in a workspace for the kernel that sums up the gradient of a decay
/// or of a state: products of rows, or a final state.
struct SavedValue {
  mlir::Value value;
  std::string name; // of the workspace
};

/// Rows of a vector that the kernels of one set leave in a workspace for those of a later one.
struct PassedRows {
  mlir::Value vector;
  std::string name; // of the workspace

  /// [B, T, H, width] in f32, whatever tensors hold.
  HiddenArgument workspace(mlir::Builder &builder) const;
};

/// What attends have in common that one program computes.
struct AttendKind {
  Mask mask = Mask::Causal;
  /// Rows are those of keys, and sums over groups of query heads (GroupSums.cpp).
  bool ofKeys = false;
  /// Blocks may be computed in any order, from states that are given.
  bool readsStates = false;

  static AttendKind of(AttendOp attend) {
    return {attend.getMask(), attend.getOfKeys(), bool(attend.getBlockStates())};
  }
  bool operator==(const AttendKind &other) const {
    return std::tie(mask, ofKeys, readsStates) ==
           std::tie(other.mask, other.ofKeys, other.readsStates);
  }
};

/// The attends of an attention that have one mask, and rows of one side: a program goes over the
/// positions once, for all of them. There are none of them in a set of rows alone, which computes
/// what depends on no attend where the programs of no other set have rows of queries.
struct AttendSet {
  explicit AttendSet(AttentionOp attention = {}, AttendKind kind = {})
      : attention(attention), kind(kind) {}

  mutable AttentionOp attention; // its accessors are not const
  AttendKind kind;
  llvm::SmallVector<AttendOp> attends;
  llvm::SmallVector<Schedule> schedules; // one for each
  llvm::SmallVector<StateOp> states;     // that they read, each once
  KernelTensors tensors;
  int64_t run = 0; // the block of the local kernels, 0 without
  /// Which of the attention's results are computed from them, or from no attend at all.
  llvm::SmallVector<bool> computes;
  std::vector<WeightSum> sums;
  /// Values saved for the gradients of decays; of grouped heads the group-reduction kernel writes
  /// the sums.
  std::vector<SavedValue> saved, savedSums;
  /// Rows that kernels of later sets need of this one, and rows that this one needs of sets before
  /// it.
  std::vector<PassedRows> exported, imported;

  /// A second set of attends, computed in this kernel's loop (FusedSets.cpp); null without one. Its
  /// states come from a tensor, so that its blocks may come in any order.
  std::shared_ptr<const AttendSet> fused;

  /// A set for each kind of attends, in the order in which they come first, and one of rows alone
  /// behind them if something needs it. Fails with a diagnostic where tile kernels cannot compute
  /// this attention.
  static mlir::FailureOr<std::vector<AttendSet>> allOf(AttentionOp attention);

  /// Kernels that have rows of results: those of heads alone, and of groups of heads.
  int64_t countKernels() const { return ofKeys() ? 2 : 1; }
  /// The programs of a kernel that computes all of a head.
  KernelPrograms programs() const { return {{}, /*keyHeads=*/ofKeys(), /*inParts=*/!sums.empty()}; }
  Mask mask() const { return kind.mask; }
  bool ofKeys() const { return kind.ofKeys; }
  bool readsStates() const { return kind.readsStates; }
  bool isRowsAlone() const { return attends.empty(); }
  /// Whether keys have the positions and heads of queries. `sameHeads` is the entry's.
  bool hasEqualSides(bool sameHeads) const { return sameHeads && mask() != Mask::Full; }
  /// Whether its programs have rows with the positions and heads of queries.
  bool hasRowsOfQueries(bool sameHeads) const { return !ofKeys() || hasEqualSides(sameHeads); }
  /// The sums of weights' gradients that its main kernel has, those of the fused set last.
  size_t countSums() const { return sums.size() + (fused ? fused->sums.size() : 0); }
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
  /// Whether a kernel after this set's reads an attend's final state.
  bool savesSum(AttendOp attend) const;
  bool savesValues() const { return !saved.empty() || !savedSums.empty(); }
  /// What the attention returns.
  mlir::OperandRange returned() const;

private:
  AttendOp first() const { return attends[0]; }
  mlir::LogicalResult complete(bool sameHeads);
  mlir::LogicalResult add(AttendOp attend);
  mlir::LogicalResult findSequences();
  mlir::LogicalResult checkSegments() const;
  mlir::LogicalResult findRowsAlone();
};

/// Fuses each set that reads states into another set over the same positions, where there is one:
/// one kernel computes both.
void fuseSets(std::vector<AttendSet> &sets);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ATTENDSET_H

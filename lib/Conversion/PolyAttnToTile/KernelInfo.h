//===- KernelInfo.h - a kernel op, read for its lowering --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_KERNELINFO_H
#define POLYATTN_CONVERSION_KERNELINFO_H

#include "KernelFrame.h"
#include "polyattn/Schedule/KernelFacts.h"

namespace polyattn {

struct Signature;

/// A sum over the positions of a kernel's rows, for the gradient of a weight.
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

  /// The value that the kernel yields.
  mlir::Value value() const { return yieldedValue(result); }
  /// The workspace of a vector, [B, T, H, width] in its kernel's `row_type`.
  HiddenArgument workspaceOfRows(mlir::Builder &builder) const;
};

/// Tile kernels that leave results in workspaces: the kernel of heads, and where rows are of keys
/// the one that adds up groups of them.
enum class Stage { Heads, Groups };

/// A region of a kernel op with what its lowering needs: the tensors that give it positions and
/// heads, its terms of weights' gradients, and the workspaces of its results.
struct KernelInfo : KernelFacts {
  KernelInfo() = default;

  KernelTensors tensors;
  std::vector<WeightSum> sums;
  /// The number of the first of its sums among the entry's: those of its body, of the region
  /// `beside`, and of the kernel that adds up groups of heads.
  size_t firstSum = 0;
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

  /// Whether a group of query heads may share a head of keys, whose rows and states are then sums
  /// over programs. Without it calls need no memory for the terms.
  bool hasGroups() const { return ofKeys && !tensors.sameHeads; }
  /// The stages that have rows of results.
  llvm::ArrayRef<Stage> stages() const {
    static constexpr Stage all[] = {Stage::Heads, Stage::Groups};
    return llvm::ArrayRef(all).take_front(hasGroups() ? 2 : 1);
  }
  /// The programs of a kernel that computes all of a head.
  KernelPrograms programs() const { return {{}, /*keyHeads=*/ofKeys, /*inParts=*/!sums.empty()}; }
  /// The sums of weights' gradients that the kernel has, those of the region `beside` last.
  size_t countSums() const { return sums.size() + (beside ? beside->sums.size() : 0); }
  /// How launches cut the kernel, and how calls of few tokens continue.
  bool hasSegments() const { return cut().getSubsegments() > 0; }
  /// Whether programs compute blocks of rows each by itself, and these programs.
  bool hasBlocks() const { return segment() || cut().getBlocks(); }
  KernelPrograms blockPrograms(mlir::Builder &builder) const;
  CutAttr cut() const;
  StepsAttr steps() const;
  /// The workspaces of programs that share rows of keys: of the rows, if any are asked for, and of
  /// the final states of `groupAttends`.
  llvm::SmallVector<HiddenArgument> groupTensors(mlir::Builder &builder) const;
  /// The attends whose final states are sums over groups of query heads.
  llvm::SmallVector<AttendOp> groupAttends() const;
  /// Whether a kernel after this one reads an attend's final state.
  bool savesSum(AttendOp attend) const;

private:
  KernelInfo(KernelOp kernel, mlir::Region &region);
  mlir::LogicalResult complete(const Signature &signature);
  mlir::LogicalResult check(AttendOp attend, const Schedule &schedule) const;
  mlir::LogicalResult checkCuts() const;
  mlir::LogicalResult findSequences();
  mlir::LogicalResult findRowsAlone();
  mlir::LogicalResult findHeads();
  void describeTensors(const Signature &signature);
  mlir::LogicalResult checkSegments() const;
  AttendOp first() const { return attends[0]; }
  bool hasEqualSides() const { return tensors.sameHeads && mask != Mask::Full; }
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_KERNELINFO_H

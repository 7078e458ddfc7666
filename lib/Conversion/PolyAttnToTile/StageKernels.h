//===- StageKernels.h - the tile kernels of a kernel op ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel op has one tile kernel that computes its rows, and others before it and after it, as its
// attributes `cut` and `steps` and its rows ask for. Each class here is one kind of them: it builds
// kernels, and writes their stages and workspaces into the entry. ChunkwiseKernels.h has those of
// the form `chunkwise`.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STAGEKERNELS_H
#define POLYATTN_CONVERSION_STAGEKERNELS_H

#include "EntryBuilder.h"
#include "OpenKernel.h"

namespace polyattn {

/// One kind of them.
class StageKernels {
public:
  explicit StageKernels(const Lowering &lowering) : info(lowering.info), lowering(lowering) {}

protected:
  const KernelInfo &info;
  Lowering lowering;
};

/// Programs that share a head by its features (`splits`), and the kernel that adds up their parts
/// (SplitKernels.cpp).
class SplitKernels : public StageKernels {
public:
  using StageKernels::StageKernels;
  OpenKernel openMain() const;
  void build() const;
  void write(EntryBuilder &entry, mlir::ArrayAttr programs) const;

private:
  llvm::SmallVector<HiddenArgument> tensors() const;
  OpenKernel open(llvm::StringRef name) const;
};

/// Programs that share a head by its positions (`subsegments`), and the kernel that computes the
/// sums of the keys of segments (SegmentKernels.cpp).
class SegmentKernels : public StageKernels {
public:
  using StageKernels::StageKernels;
  OpenKernel openMain() const;
  void build() const;
  void write(EntryBuilder &entry) const;

private:
  llvm::SmallVector<HiddenArgument> tensors() const;
  OpenKernel open(llvm::StringRef name, const KernelPrograms &programs, bool isPrefix) const;
  SegmentContext segmentOf(const KernelFrame &frame, bool isPrefix) const;
  KernelPrograms prefixPrograms() const;
  KernelPrograms mainPrograms() const;
};

/// Final states that live in arguments, and the kernel that takes them there
/// (PlacedStateKernels.cpp).
class PlacedStateKernels : public StageKernels {
public:
  using StageKernels::StageKernels;
  /// The workspaces of the final states that live in arguments.
  llvm::SmallVector<HiddenArgument> tensors() const;
  /// The programs of the kernel that computes rows, where calls of few tokens have kernels of their
  /// own.
  KernelPrograms mainPrograms() const;
  void build() const;
  void writeWorkspaces(EntryBuilder &entry) const;
  void writeStage(EntryBuilder &entry) const;

private:
  KernelPrograms programs() const;
};

/// Calls of few tokens whose states live in arguments (TokenKernels.cpp).
class TokenKernels : public StageKernels {
public:
  using StageKernels::StageKernels;
  void build() const;
  void write(EntryBuilder &entry) const;

private:
  /// What the vectors' kernel hands to the steps, [batches, heads, width].
  struct StepTensor {
    HiddenArgument tensor;
    bool ofQueries; // its heads are queries', else keys'
  };
  llvm::SmallVector<StepTensor> stepTensors() const;
  llvm::SmallVector<HiddenArgument> workspaces() const;
  KernelPrograms vectorPrograms() const;
  KernelPrograms fewPrograms() const;
  void buildFew() const;
  void buildVectors() const;
};

/// The kernel that adds up the rows of keys of a group's query heads (GroupSums.cpp).
void buildGroupKernel(const Lowering &lowering);

/// A number that is 0 in calls of at most so many tokens: times ceil((T - tokens) / more than any
/// length).
tile::ExtentAttr ifLongerThan(const Lowering &lowering, int64_t tokens, int64_t number);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STAGEKERNELS_H

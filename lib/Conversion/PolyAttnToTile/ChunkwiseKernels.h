//===- ChunkwiseKernels.h - the kernels of the form `chunkwise` -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are cut into segments of L positions. Three kinds of kernels, each with programs that
// depend on no other program of their stage, as in FLA's chunk mode and the chunkwise form of gated
// linear attention (Yang et al. 2024, section 4):
//
//   NAME__sums   for each state, a block of its features and a segment: the sum over the segment;
//   NAME__prefix   for each state and a block of its features: the state before each segment, and
//                  the final state where it is asked for. Sums come in the order of segments;
//   NAME           for each block of queries: the state before its segment, and the pairs of the
//                  segment by scores. Where the gradients of weights are summed up, for a part of
//                  these blocks, one after another.
//
// Under the full mask every query reads the sum of all segments.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_CHUNKWISEKERNELS_H
#define POLYATTN_CONVERSION_CHUNKWISEKERNELS_H

#include "EntryBuilder.h"
#include "KernelProgram.h"

namespace polyattn {

class ChunkwiseKernels {
public:
  /// Of a kernel's attends, whose rows the tile kernel `name` computes.
  ChunkwiseKernels(const KernelInfo &kernel, llvm::StringRef name, bool skipsIdleState)
      : kernel(kernel), name(name), skipsIdleState(skipsIdleState) {}

  /// Builds the kernels of states before `attention`.
  void buildStates(TileBuilder &builder, AttentionOp attention) const;
  /// Writes their workspaces and stages. Gives the names of the states that the last kernel reads.
  EntryBuilder::Uses writeStages(EntryBuilder &entry, mlir::OpBuilder &builder) const;
  /// The tensors of these states.
  llvm::SmallVector<HiddenArgument> stateTensors(mlir::Builder &builder) const;
  /// Builds the block of queries at `position` in the last kernel, whose workspaces have the states
  /// from `first` on. `context` is that of a kernel that is not cut.
  void buildQueries(TileBuilder &builder, unsigned first, mlir::Value position,
                    ProgramContext context) const;

private:
  /// One state, and the tensors that only these kernels see.
  struct StateInfo {
    mutable StateUpdateInterface state; // its accessors are not const
    std::string suffix;                 // of names: a number where there are several states
    int64_t featureBlock = 0;           // features of a program that sums them up
    /// Its features, in blocks of so many.
    FeatureRange range(int64_t block) const;
    bool hasFinal = false; // the last segment's sum is needed, too
  };
  /// Which tensors of a kernel a state has, in the order of `sumTensors` and `stateTensors`.
  struct Tensors {
    mlir::Value rows, normalizers, decays; // null where there are none
  };

  std::vector<StateInfo> stateInfos() const;
  /// The features of a program that adds up the sums of segments.
  FeatureRange prefixRange(const StateInfo &info) const;
  std::string nameOf(llvm::StringRef tensor, const StateInfo &info) const;
  llvm::SmallVector<HiddenArgument> sumTensors(const StateInfo &info, mlir::Builder &builder) const;
  llvm::SmallVector<HiddenArgument> stateTensors(const StateInfo &info,
                                                 mlir::Builder &builder) const;
  Tensors bind(const StateInfo &info, const KernelFrame &frame, unsigned &next, bool ofSums) const;
  /// Programs for each head: blocks of features times segments, and blocks of features.
  tile::ExtentAttr keysBy(mlir::Builder &builder, int64_t without, int64_t times) const;
  KernelPrograms sumPrograms(const StateInfo &info, mlir::Builder &builder) const;
  KernelPrograms prefixPrograms(const StateInfo &info, mlir::Builder &builder) const;
  ProgramContext contextOf(KernelFrame &frame, std::shared_ptr<const FeatureShare> share) const;

  mlir::Value isLong(TileBuilder &builder, const KernelFrame &frame) const;
  void ifLong(TileBuilder &builder, const KernelFrame &frame, TileBuilder::Branch body) const;
  SegmentContext segmentOf(TileBuilder &builder, const KernelFrame &frame,
                           mlir::Value position) const;
  void buildSums(TileBuilder &builder, const StateInfo &info) const;
  void buildPrefix(TileBuilder &builder, const StateInfo &info) const;
  /// Emits `body` for the block of features of a program, whose number is `block`.
  void forFeatureBlock(TileBuilder &builder, const FeatureRange &range, mlir::Value block,
                       llvm::function_ref<void(std::shared_ptr<const FeatureShare>)> body) const;
  bool isForwards() const { return kernel.mask != Mask::Anticausal; }
  bool isOrdered() const { return kernel.mask != Mask::Full; }
  /// Whether the sum of every segment is needed, the one where the sweep ends, too.
  bool sumsAll(const StateInfo &info) const { return info.hasFinal || !isOrdered(); }
  /// Whose states there are: of the heads of rows, or of what rows see.
  bool haveHeadsOfRows() const { return !kernel.ofKeys && kernel.hasStatePerQuery(); }
  mlir::Value headOf(const KernelFrame &frame) const {
    return haveHeadsOfRows() ? frame.heads.ofRows() : frame.heads.ofSeen();
  }

  const KernelInfo &kernel;
  std::string name;
  bool skipsIdleState;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_CHUNKWISEKERNELS_H

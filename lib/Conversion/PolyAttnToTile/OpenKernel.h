//===- OpenKernel.h - a tile kernel that is being built ---------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_OPENKERNEL_H
#define POLYATTN_CONVERSION_OPENKERNEL_H

#include "ProgramContext.h"
#include "WeightSums.h"

namespace polyattn {

/// A kernel op that is being lowered.
struct Lowering {
  TileBuilder &b;
  const KernelInfo &info;
  bool skipsIdleState; // products with a state that is zero, or that nobody reads, are empty

  /// The name of one of its tile kernels.
  std::string named(llvm::StringRef suffix) const { return (info.name() + suffix).str(); }
};

/// A tile kernel whose body is being built.
class OpenKernel {
public:
  /// Opens a kernel over the attention's tensors and workspaces, before the attention, and moves
  /// the builder into it.
  OpenKernel(const Lowering &lowering, llvm::StringRef name,
             llvm::ArrayRef<HiddenArgument> workspaces = {}, const KernelPrograms &programs = {},
             int64_t cluster = 1);
  /// The same for a stage that leaves results in workspaces. Behind the others it has those of sums
  /// of weights' gradients, saved results and rows that pass between kernels, and then `states`.
  OpenKernel(const Lowering &lowering, llvm::StringRef name,
             llvm::ArrayRef<HiddenArgument> workspaces, const KernelPrograms &programs, Stage stage,
             llvm::ArrayRef<HiddenArgument> states = {}, int64_t cluster = 1);

  ProgramContext context();
  /// Emits `body` for each batch of the program: one, or those of its part.
  void forBatches(TileBuilder::Branch body);
  /// The same for parts of all blocks; `body` gets the first position of one.
  void forBlocks(llvm::function_ref<void(mlir::Value)> body);
  /// Emits `body` for calls of more than so many positions, or of at most so many.
  void ifLonger(int64_t tokens, TileBuilder::Branch body);
  void ifAtMost(int64_t tokens, TileBuilder::Branch body);

  KernelFrame frame;
  std::shared_ptr<const FeatureShare> share;
  std::optional<SegmentContext> segment;
  unsigned firstState = 0; // the workspace of the first of the states

private:
  void storeSums();

  Lowering lowering;
  std::optional<WeightSums> weightSums, besideSums;
  PassedResults passed; // without the sums
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_OPENKERNEL_H

//===- EarlyCopies.h - copies that start before work ahead of them -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a block of ops load their operands one after another. If each step waits for its own
// loads, the block pays the latency of device memory for each step. If the loads come first, it
// pays once. A load that moves up takes its shared memory for longer. So each moves up as far as
// there is room.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_EARLYCOPIES_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_EARLYCOPIES_H

#include "KernelLowering.h"

namespace polyattn::tile_to_warp {

class EarlyCopies {
public:
  /// Whether a CTA may take so many bytes of shared memory.
  using Fits = llvm::function_ref<bool(int64_t bytes)>;
  EarlyCopies(tile::KernelOp kernel, const ResidencyAnalysis &residency, MemoryUse use, Fits fits);

  /// Moves the loads of a kernel up. Returns whether any has moved.
  bool moveLoads();
  /// The loads that are copied to memory for this, where users loaded their elements before.
  const llvm::DenseSet<mlir::Operation *> &newCopies() const { return copies; }
  /// Moves everything back.
  void undo();

private:
  void moveUp(tile::LoadOp load);
  bool isWork(mlir::Operation &op) const;
  mlir::Operation *firstPlace(tile::LoadOp load,
                              const llvm::SetVector<mlir::Operation *> &arithmetic) const;
  mlir::Operation *behindCopies(mlir::Operation *place, tile::LoadOp own) const;
  mlir::Operation *roomyPlace(tile::LoadOp load,
                              const llvm::SetVector<mlir::Operation *> &arithmetic) const;
  std::optional<Lifetime> lifetimeFrom(tile::LoadOp load, mlir::Operation *place) const;
  bool hasRoom(tile::LoadOp load, const Lifetime &lifetime) const;
  void moveBefore(mlir::Operation *op, mlir::Operation *place);

  tile::KernelOp kernel;
  const ResidencyAnalysis &residency;
  MemoryUse use;
  Fits fits;
  llvm::DenseSet<mlir::Operation *> copies, moved;
  /// Ops that have moved, and the op that stood behind each.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::Operation *>> moves;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_EARLYCOPIES_H

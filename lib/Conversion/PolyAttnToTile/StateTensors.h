//===- StateTensors.h - a state in tensors of the kernel --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATETENSORS_H
#define POLYATTN_CONVERSION_STATETENSORS_H

#include "BlockState.h"
#include "KernelFrame.h"

namespace polyattn {

/// Where a final state and its normalizer go; null where they are not asked for.
struct FinalState {
  mlir::Value rows, normalizer;
};

/// A program's state in tensors: those that it begins with, and those that take it in the end.
class StateTensors {
public:
  /// Those of `op`, whose sums the program has in `sums`.
  StateTensors(StateUpdateInterface op, const KernelFrame &frame, const BlockState &sums)
      : op(op), frame(frame), sums(sums) {}

  /// The initial state and normalizer as the caller has them.
  StoredState initial() const;

  //===--- Final states --------------------------------------------------------===//
  /// Called after the loops: writes the final state and its normalizer to the given tensors, none
  /// or several for each.
  void storeFinal(TileBuilder &builder, llvm::ArrayRef<mlir::Value> states,
                  llvm::ArrayRef<mlir::Value> normalizers) const;
  /// Copies a final state that is in workspaces to the tensors of the caller.
  void writeBack(TileBuilder &builder, const FinalState &from, const FinalState &to) const;

  //===--- Groups of query heads (GroupSums.cpp) -----------------------------===//
  /// Called instead of `storeFinal`: writes what this program has of the final state.
  void storePart(TileBuilder &builder, mlir::Value parts) const;
  /// Writes the sum of the parts of a group's heads to `states`.
  void sumParts(TileBuilder &builder, mlir::Value parts, llvm::ArrayRef<mlir::Value> states) const;

  //===--- States where they live --------------------------------------------===//
  StoredState at(const FinalState &place) const;
  /// Writes zeros, or the sums.
  void clear(TileBuilder &builder, const FinalState &place) const;
  void store(TileBuilder &builder, const FinalState &place) const;

private:
  /// The head whose state it is.
  mlir::Value head() const { return frame.heads.of(op.getGateHeads() == GateHeads::Q); }
  void storeAfterLast(TileBuilder &builder, const BlockState::Destinations &results) const;

  mutable StateUpdateInterface op; // its accessors are not const
  const KernelFrame &frame;
  const BlockState &sums;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATETENSORS_H

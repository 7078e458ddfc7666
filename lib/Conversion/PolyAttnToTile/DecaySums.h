//===- DecaySums.h - gradients of decays, summed up -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a decay is a running sum over positions (decay_gradient), of products that the
// programs of both sides have stored for each position and query head. A kernel after all others
// goes over the positions, a program for each gate. The order of sums does not depend on
// scheduling.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_DECAYSUMS_H
#define POLYATTN_CONVERSION_DECAYSUMS_H

#include "SavedTensors.h"

namespace polyattn {

/// The kernel that gives one gradient of a decay.
class DecaySums : public SavedSum {
public:
  DecaySums(DecayGradientOp op, unsigned number, SavedTensors saved)
      : SavedSum(tile::StageRole::DecaySums, "__decay", number, std::move(saved)), op(op) {}

  void build(TileBuilder &builder, llvm::StringRef entry) const override;
  mlir::ArrayAttr grid(mlir::Builder &builder) const override;

private:
  /// Positions of one gate, of a batch or of a packed sequence.
  struct Gates;
  using Visit = llvm::function_ref<mlir::Value(mlir::Value gradients, mlir::Value position,
                                               mlir::Value valid, mlir::Value carried)>;

  bool isOfHead() const;
  void buildOfPositions(TileBuilder &builder, llvm::StringRef name) const;
  void buildOfHead(TileBuilder &builder, llvm::StringRef name) const;
  mlir::Value ofStates(TileBuilder &builder, const Gates &gates) const;
  mlir::Value changes(TileBuilder &builder, const Gates &gates, mlir::Value position,
                      mlir::Value valid) const;
  mlir::Value run(TileBuilder &builder, const Gates &gates, mlir::Value carried, Visit visit) const;

  mutable DecayGradientOp op; // its accessors are not const
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_DECAYSUMS_H

//===- StateSums.h - gradients of states that attends share -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An initial state that several attends take has a gradient from each, the final state of a sweep
// (add_gradients). Kernels leave these in workspaces, and a kernel after all others adds them, a
// program for each state, always in one order.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATESUMS_H
#define POLYATTN_CONVERSION_STATESUMS_H

#include "SavedTensors.h"

namespace polyattn {

/// The kernel that gives one gradient of a state.
class StateSums : public SavedSum {
public:
  StateSums(AddGradientsOp op, unsigned number, SavedTensors saved)
      : SavedSum(tile::StageRole::StateSums, "__state", number, std::move(saved)), op(op) {}

  void build(TileBuilder &builder, llvm::StringRef entry) const override;
  mlir::ArrayAttr grid(mlir::Builder &builder) const override;

private:
  mutable AddGradientsOp op; // its accessors are not const
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATESUMS_H

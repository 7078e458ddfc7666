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

/// The kernel that gives one gradient.
class StateSums {
public:
  /// Those of all the gradients that the entry returns.
  static std::vector<StateSums> allOf(llvm::ArrayRef<KernelInfo> sets);

  /// Builds the kernel where `builder` is.
  void build(TileBuilder &builder, llvm::StringRef entry) const;
  std::string kernelName(llvm::StringRef entry) const;
  /// The axes of its grid, and the values that it takes from workspaces.
  mlir::ArrayAttr grid(mlir::Builder &builder) const;
  llvm::ArrayRef<StoredResult> getSaved() const { return saved.values; }

private:
  StateSums(AddGradientsOp op, unsigned number, SavedTensors saved)
      : op(op), number(number), saved(std::move(saved)) {}

  mutable AddGradientsOp op; // its accessors are not const
  unsigned number;           // among the gradients of shared states
  SavedTensors saved;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATESUMS_H

//===- SavedTensors.h - values that kernels leave for sums ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of decays and of states that several attends take are sums of what the kernels of these
// attends leave in workspaces. A kernel after all others computes them.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_SAVEDTENSORS_H
#define POLYATTN_CONVERSION_SAVEDTENSORS_H

#include "KernelInfo.h"

namespace polyattn {

/// The workspaces of saved values, of a kernel that writes or reads them.
llvm::SmallVector<HiddenArgument> workspacesOf(mlir::Builder &builder,
                                               llvm::ArrayRef<StoredResult> saved);

/// The saved values that an op reads, and the tensors of the kernel that computes it.
class SavedTensors {
public:
  /// `result` is the result of the entry that the op gives.
  SavedTensors(mlir::Operation *op, unsigned result, llvm::ArrayRef<KernelInfo> kernels);

  /// Opens the kernel where `builder` is and moves it there.
  tile::KernelOp createKernel(TileBuilder &builder, llvm::StringRef name,
                              mlir::ArrayAttr axes) const;
  /// Where the kernel has an argument of the entry, or what another kernel has saved.
  mlir::Value tensorOf(tile::KernelOp kernel, mlir::Value value) const;
  mlir::Value resultOf(tile::KernelOp kernel) const { return kernel.getTensor(resultTensor); }

  llvm::SmallVector<StoredResult> values;
  KernelTensors tensors; // programs go by the result
  unsigned resultTensor;
};

/// The kernel that gives one gradient of a decay or of a state, from what others have saved.
class SavedSum {
public:
  virtual ~SavedSum() = default;
  /// Those of all such gradients that the entry of `kernels` returns, decays first.
  static std::vector<std::unique_ptr<SavedSum>> allOf(llvm::ArrayRef<KernelInfo> kernels);

  /// Builds the kernel where `builder` is.
  virtual void build(TileBuilder &builder, llvm::StringRef entry) const = 0;
  /// The axes of its grid.
  virtual mlir::ArrayAttr grid(mlir::Builder &builder) const = 0;
  tile::StageRole getRole() const { return role; }
  std::string kernelName(llvm::StringRef entry) const { return (entry + suffix).str(); }
  llvm::ArrayRef<StoredResult> getSaved() const { return saved.values; }

protected:
  /// `number` counts the gradients of one kind, whose kernels' names end in `suffix`.
  SavedSum(tile::StageRole role, llvm::StringRef suffix, unsigned number, SavedTensors saved)
      : saved(std::move(saved)), role(role),
        suffix((suffix + (number ? llvm::Twine(number) : llvm::Twine())).str()) {}

  SavedTensors saved;

private:
  tile::StageRole role;
  std::string suffix;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_SAVEDTENSORS_H

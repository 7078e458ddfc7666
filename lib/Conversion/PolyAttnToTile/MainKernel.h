//===- MainKernel.h - the tile kernel that computes rows --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_MAINKERNEL_H
#define POLYATTN_CONVERSION_MAINKERNEL_H

#include "OpenKernel.h"

namespace polyattn {

/// The tile kernel of a kernel op's name, which computes its rows, in the forms that calls of
/// several lengths take.
class MainKernel {
public:
  explicit MainKernel(const Lowering &lowering);
  void build();

private:
  void buildBlocks();
  void buildOneOfBlocks(mlir::Value position);
  void buildShortOrLong(llvm::ArrayRef<int64_t> lengths, TileBuilder::Branch longer);
  void branch(mlir::Value isShort, TileBuilder::Branch few, TileBuilder::Branch many);
  void buildForms();
  void buildForm(ScheduleForm form);

  const KernelInfo &info;
  TileBuilder &b;
  OpenKernel kernel;
};

/// The tile kernels of a kernel op.
void buildKernels(const Lowering &lowering);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_MAINKERNEL_H

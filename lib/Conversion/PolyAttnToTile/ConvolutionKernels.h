//===- ConvolutionKernels.h - tile kernels of a convolution -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions are products of transforms (`tile.fourier`). A program has some channels of a head,
// two of them in each complex number. Its transforms have n rows, the least power of two that is at
// least twice the positions, so that what wraps around at their end is 0, or, for circular
// convolutions, is added to the rows that it belongs to.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_CONVOLUTIONKERNELS_H
#define POLYATTN_CONVERSION_CONVOLUTIONKERNELS_H

#include "EntryBuilder.h"
#include "OpenKernel.h"

namespace polyattn {

/// The tile kernels of a kernel op that has a convolution, or the gradient of a filter.
class ConvolutionKernels {
public:
  explicit ConvolutionKernels(const Lowering &lowering);

  void build();
  /// Writes their workspaces and stages.
  void write(EntryBuilder &entry);

private:
  class Program;

  bool isFirst() const;
  KernelOp ownerOfFilter(ConvolveOp op) const;
  void buildRoots();
  void buildFilter(ConvolveOp op);
  void buildRows(ConvolveOp op);
  void buildGradient(FilterGradientOp op);

  /// Workspaces: a transform of rows for each of the `leading` sizes.
  HiddenArgument roots() const;
  HiddenArgument transforms(KernelOp of, llvm::StringRef suffix, int64_t leading) const;
  llvm::SmallVector<HiddenArgument> tensorsOf(ConvolveOp op) const;
  llvm::SmallVector<HiddenArgument> tensorsOf(FilterGradientOp op) const;
  llvm::SmallVector<HiddenArgument> withPassed(llvm::SmallVector<HiddenArgument> own) const;

  /// Sizes of grids and workspaces.
  tile::ExtentAttr dimension(int64_t number, int64_t plus = 0, int64_t times = 1) const;
  tile::ExtentAttr number(int64_t number) const;
  tile::ExtentAttr transformRows() const { return dimension(1, /*plus=*/1, /*times=*/4); }
  mlir::ArrayAttr grid(llvm::ArrayRef<tile::ExtentAttr> axes) const;
  llvm::SmallVector<tile::ExtentAttr> filterAxes(ConvolveOp op) const;
  llvm::SmallVector<tile::ExtentAttr> rowAxes() const;
  llvm::SmallVector<tile::ExtentAttr> gradientAxes(FilterGradientOp op) const;
  void writePassed(EntryBuilder &entry) const;

  Lowering lowering;
  const KernelInfo &info;
  TileBuilder &b;
  mlir::Operation *convolution;
  int64_t width, channels; // of a vector, and of a program
  int64_t columns;         // complex numbers in a row of a transform
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_CONVOLUTIONKERNELS_H

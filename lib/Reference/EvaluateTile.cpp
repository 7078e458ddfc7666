//===- EvaluateTile.cpp - every program of a kernel -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/EvaluateTile.h"
#include "TileInterpreter/Machine.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

static LogicalResult checkTensors(tile::KernelOp kernel, ArrayRef<Array> tensors) {
  if (tensors.size() != kernel.getNumTensors())
    return kernel.emitError("expected ")
           << kernel.getNumTensors() << " tensors, got " << tensors.size();
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    bool fits = type.getRank() == tensor.rank();
    for (int64_t d = 0; fits && d < type.getRank(); ++d)
      fits = type.isDynamicDim(d) || type.getDimSize(d) == tensor.shape[d];
    if (!fits)
      return kernel.emitError("tensor ") << kernel.getArgNames()[i] << " does not fit " << type;
  }
  return success();
}

/// How many programs there are along an axis.
static int64_t sizeOf(tile::ExtentAttr axis, ArrayRef<Array> tensors, const TileOptions &options) {
  switch (axis.getBase()) {
  case tile::ExtentBase::Number:
    return axis.valueOf(0);
  case tile::ExtentBase::Dimension:
    return axis.valueOf(tensors[axis.getTensor()].shape[axis.getDimension()]);
  case tile::ExtentBase::Segments:
    return axis.valueOf(options.segments);
  case tile::ExtentBase::Splits:
    return axis.valueOf(options.splits);
  case tile::ExtentBase::Parts:
    return axis.valueOf(options.parts);
  }
  llvm_unreachable("not an axis");
}

/// The next program of a grid, the last axis first; false after the last one.
static bool advance(SmallVectorImpl<int64_t> &coordinates, ArrayRef<int64_t> sizes) {
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (++coordinates[axis] < sizes[axis])
      return true;
    coordinates[axis] = 0;
  }
  return false;
}

LogicalResult polyattn::evaluateTile(tile::KernelOp kernel, MutableArrayRef<Array> tensors,
                                     const TileOptions &options) {
  if (failed(checkTensors(kernel, tensors)))
    return failure();
  SmallVector<int64_t> sizes;
  for (tile::ExtentAttr axis : kernel.getAxes())
    sizes.push_back(sizeOf(axis, tensors, options));
  if (llvm::any_of(sizes, [](int64_t size) { return size <= 0; }))
    return success();
  SmallVector<int64_t> coordinates(sizes.size(), 0);
  do {
    if (options.onProgram)
      options.onProgram(coordinates);
    Machine machine(kernel, tensors, options);
    if (failed(machine.runProgram(coordinates)))
      return failure();
  } while (advance(coordinates, sizes));
  return success();
}

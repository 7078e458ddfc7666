//===- FourierOps.cpp - verification of transforms and their products -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace polyattn::tile;

static LogicalResult verifyRoots(Operation *op, Type roots) {
  auto type = dyn_cast<MemRefType>(roots);
  if (!type || type.getRank() != 2 || type.getDimSize(1) != 2 || !type.getElementType().isF32())
    return op->emitOpError("C1: roots are memref<?x2xf32>, not ") << roots;
  return success();
}

/// A complex row buffer, and the indices of its dimensions before the rows.
static LogicalResult verifyRows(Operation *op, Type buffer, size_t indices) {
  auto type = dyn_cast<MemRefType>(buffer);
  if (!type || type.getRank() < 2 || type.isDynamicDim(type.getRank() - 1) ||
      type.getShape().back() < 2 || type.getShape().back() % 2 != 0 ||
      !type.getElementType().isF32())
    return op->emitOpError("C2: rows of complex numbers are f32 of an even static size, not ")
           << buffer;
  if (int64_t(indices) != type.getRank() - 2)
    return op->emitOpError("C3: expected ")
           << type.getRank() - 2 << " indices before the rows, got " << indices;
  return success();
}

LogicalResult FourierRootsOp::verify() { return verifyRoots(*this, getRoots().getType()); }

LogicalResult FourierOp::verify() {
  if (failed(verifyRoots(*this, getRoots().getType())))
    return failure();
  return verifyRows(*this, getMemref().getType(), getIndices().size());
}

LogicalResult MultiplySpectraOp::verify() {
  if (failed(verifyRows(*this, getX().getType(), getXIndices().size())) ||
      failed(verifyRows(*this, getZ().getType(), getZIndices().size())) ||
      failed(verifyRows(*this, getY().getType(), getYIndices().size())))
    return failure();
  int64_t width = getWidth();
  for (Value factor : {getX(), getZ()})
    if (int64_t size = cast<MemRefType>(factor.getType()).getShape().back(); size != 2 * width)
      return emitOpError("C4: rows of ") << size << " and of " << 2 * width << " numbers";
  return success();
}

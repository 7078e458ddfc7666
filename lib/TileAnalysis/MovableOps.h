//===- MovableOps.h - ops that give the same elsewhere ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_MOVABLEOPS_H
#define POLYATTN_LIB_TILEANALYSIS_MOVABLEOPS_H

#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Whether an op gives the same wherever it stands among ops that it does not use.
bool isMovable(mlir::Operation *op);

/// Whether two ops of one kind compute the same from the same, as element-wise functions do.
bool haveSameRegions(mlir::Operation *a, mlir::Operation *b);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_MOVABLEOPS_H

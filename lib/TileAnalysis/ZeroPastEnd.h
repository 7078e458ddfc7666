//===- ZeroPastEnd.h - tiles that are zero past the end of a tensor -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile with a row or a column for each position has some that are none of the tensor's, in the
// last block of a sequence. Sums over positions leave them out. Where they are known to be zero in
// what is summed, nothing needs to be left out.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TILEANALYSIS_ZEROPASTEND_H
#define POLYATTN_LIB_TILEANALYSIS_ZEROPASTEND_H

#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Whether all elements of `tile` from row (column) `end` on are zero, whatever the tensors hold:
/// weights may be infinite, so that a product with what is zero there need not be.
bool isZeroPast(mlir::Value tile, tile::Axis axis, mlir::Value end);

} // namespace polyattn

#endif // POLYATTN_LIB_TILEANALYSIS_ZEROPASTEND_H

//===- Precision.h - in what a kernel multiplies ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_PRECISION_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_PRECISION_H

#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"

namespace polyattn::tile_to_warp {

/// Reports a tile of 16-bit elements, or a product whose precision cannot be lowered. Tensor cores
/// multiply matrices in bf16, in tf32, or in sums of two of these, and all matrices of a kernel in
/// one way: what memory holds depends on it.
mlir::LogicalResult checkPrecision(tile::KernelOp kernel);

/// What the tensor cores multiply in a kernel that was checked, and whether each factor is cut in
/// two.
std::pair<warp::OperandKind, bool> operandsOf(tile::KernelOp kernel);

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_PRECISION_H

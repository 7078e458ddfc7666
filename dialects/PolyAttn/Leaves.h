//===- Leaves.h - the plain vectors under a structure -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_LEAVES_H
#define POLYATTN_DIALECTS_LEAVES_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// The plain vectors under the structure of a vector, each once, in the order of the features; what
/// `constant` and `relative` give is none. Maps are inlined.
llvm::SmallVector<mlir::Value> leavesOf(mlir::Value vector);

/// Whether the features are those that the leaves have: side by side, none a product.
bool hasFeaturesOfLeaves(const Structure &structure);

/// Whether a vector is such a leaf by itself.
bool isLeaf(mlir::Value vector);

/// The vector that `vector` is a multiple of; the number is multiplied to `factor`.
mlir::Value withoutScales(mlir::Value vector, double &factor);
mlir::Value withoutScales(mlir::Value vector);

/// The operands through which a value's structure is built; empty for leaves and constants.
mlir::ValueRange partsOf(mlir::Value vector);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_LEAVES_H

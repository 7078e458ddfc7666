//===- WeightTiles.h - weights of a program as tiles ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_WEIGHTTILES_H
#define POLYATTN_CONVERSION_WEIGHTTILES_H

#include "TileBuilder.h"
#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// Weights are loaded once for each program, before its loops, and products of weights computed
/// there; what is shared by the heads depends on no index of the program.
class WeightTiles {
public:
  /// The kernel's tensors are `inputs` arguments of the entry, and its results.
  WeightTiles(tile::KernelOp kernel, int64_t inputs) : kernel(kernel), inputs(inputs) {}
  /// A matrix as it is, a vector as a column. `head` is the reading side's.
  mlir::Value get(TileBuilder &builder, mlir::Value weight, mlir::Value head);
  mlir::Value tensorOf(ReadOp read) { return tensorOf(read.getTensor()); }
  /// The tensor of an argument, or of a vector that a kernel before this one has left.
  mlir::Value tensorOf(mlir::Value value);
  /// Says which tensor has such a vector, in rows of queries.
  void bindRows(mlir::Value vector, mlir::Value tensor) { passed[vector] = tensor; }
  /// The pool of rows that are kept, as the result in which tokens of the call leave theirs.
  mlir::Value poolOf(KeepOp keep);

private:
  bool isPerHead(mlir::Value weight);
  mlir::Value load(TileBuilder &builder, ReadOp read, mlir::Value head);
  mlir::Value multiply(TileBuilder &builder, WeightProductOp product, mlir::Value head);

  tile::KernelOp kernel;
  int64_t inputs;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> tiles;
  llvm::DenseMap<mlir::Value, mlir::Value> passed;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_WEIGHTTILES_H

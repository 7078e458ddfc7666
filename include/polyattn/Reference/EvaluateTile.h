//===- EvaluateTile.h - tile kernels, executed ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A readable interpreter of the tile dialect. It computes in f64, so that a tile kernel
// can be held against the oracle to the last digits before any rounding of a machine blurs
// the picture, and it is strict where a lowering may do as it likes:
//
//   - entries that an op leaves unspecified (above the diagonal of a `lower` dot, below that of an
//   `upper` one) are NaN;
//   - a tile that was read from a buffer may not be used once its rows are written;
//   - an access outside a tensor, a buffer or a tile is an error, and so is a store to
//     an input or a `lower_lhs` operand that is not zero above its diagonal.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_EVALUATETILE_H
#define POLYATTN_REFERENCE_EVALUATETILE_H

#include "dialects/Tile/Tile.h"
#include "polyattn/Reference/Array.h"
#include "llvm/ADT/FloatingPointMode.h"

namespace polyattn {

struct TileOptions {
  /// Round each op's result to its element type, stores to the tensor's type, and operands of
  /// products as their precision says (`#tile.precision`). Sums inside one op are still f64.
  bool round = false;
  /// Which way results and stores are rounded then.
  llvm::RoundingMode rounding = llvm::RoundingMode::NearestTiesToEven;
  /// What a launch chooses: how many segments, splits and parts there are.
  int64_t segments = 1, splits = 1, parts = 1;
  /// Called before each program, where given.
  std::function<void(llvm::ArrayRef<int64_t> coordinates)> onProgram;
};

/// Runs every program of a kernel on dense tensors, inputs first, and leaves the results in
/// the tensors after them; what no program stores there keeps its value.
mlir::LogicalResult evaluateTile(tile::KernelOp kernel, llvm::MutableArrayRef<Array> tensors,
                                 const TileOptions &options = {});

} // namespace polyattn

#endif // POLYATTN_REFERENCE_EVALUATETILE_H

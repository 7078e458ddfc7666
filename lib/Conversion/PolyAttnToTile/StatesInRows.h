//===- StatesInRows.h - states after blocks, in rows of a tensor *- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_STATESINROWS_H
#define POLYATTN_CONVERSION_STATESINROWS_H

#include "BlockState.h"
#include "Gates.h"
#include "ProgramContext.h"
#include "polyattn/Schedule/FeaturePlan.h"

namespace polyattn {

/// The states after blocks that an attend keeps in rows of a tensor (`state_every`), or takes from
/// there (`block_states`).
class StatesInRows {
public:
  StatesInRows(AttendOp op, const ProgramContext &context)
      : op(op), context(context), gates(op, context) {}

  /// The queries times the state before the block, [C x dv]. Features of keys were elements of
  /// values there, and the last one may have been the 1 of a normalizer.
  mlir::Value read(TileBuilder &builder, VectorProgram &queries, const FeaturePlan &plan,
                   const std::vector<double> &weights, const BlockSpan &span) const;
  /// Stores the state of features [first, first + count), or the normalizer, after the block.
  void store(TileBuilder &builder, const BlockState &sums, mlir::Value first, int64_t count,
             const BlockSpan &span) const;
  void storeNormalizer(TileBuilder &builder, const BlockState &sums, const BlockSpan &span) const;

private:
  mlir::Value loadNormalizer(TileBuilder &builder, const BlockSpan &span, mlir::Value first) const;
  void storePiece(TileBuilder &builder, mlir::Value tile, mlir::Value column,
                  const BlockSpan &span) const;

  mutable AttendOp op; // its accessors are not const
  const ProgramContext &context;
  Gates gates;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_STATESINROWS_H

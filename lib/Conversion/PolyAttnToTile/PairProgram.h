//===- PairProgram.h - pairs of an attend that go by scores -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_PAIRPROGRAM_H
#define POLYATTN_CONVERSION_PAIRPROGRAM_H

#include "Accumulators.h"
#include "Gates.h"
#include "ProgramContext.h"

namespace polyattn {

/// The pairs of an attend that are seen through scores: those inside of a block, with blocks of its
/// run or segment, or with all keys.
class PairProgram {
public:
  /// `usesState` says that other pairs go through a state.
  PairProgram(AttendOp op, bool usesState, const ProgramContext &context)
      : op(op), usesState(usesState), context(context), gates(op, context) {}

  bool isLocal() const { return bool(op.getLocalQuery()); }
  /// The state is that before the block's segment, whose pairs go by scores.
  bool readsSegmentStart() const { return context.chunk && usesState; }
  /// Adds the pairs of a block, and those with blocks before it. `diagonal` are the scores inside
  /// of the block, if they are there already.
  void addNear(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys,
               mlir::Value values, mlir::Value diagonal, const BlockSpan &span,
               const BlockDecay &decay, Accumulators &accumulators);
  /// Pairs with the blocks of keys in [from, to), the nearest one first, or with all keys.
  void addBlocks(TileBuilder &builder, VectorProgram &queries, mlir::Value from, mlir::Value to,
                 bool local, const BlockDecay &decay, mlir::Value &between,
                 Accumulators &accumulators, KeySource source = KeySource::Call);
  /// Prepares scores inside of a block, for what comes before they are computed.
  void prepare(VectorProgram &queries);

private:
  struct Diagonals;
  mlir::Value lagScores(TileBuilder &builder, RelativeOp relative, const VectorProgram &queries,
                        const VectorProgram &keys);
  void addByLag(TileBuilder &builder, mlir::Value scores, const VectorProgram &queries,
                const VectorProgram &keys);
  mlir::Value scores(TileBuilder &builder, VectorProgram &queries, VectorProgram &keys, bool local,
                     tile::Triangle triangle, const PairDecay &decay);
  void add(TileBuilder &builder, Accumulators &accumulators, mlir::Value scores, mlir::Value values,
           tile::Triangle triangle, mlir::Value bound);
  void addDiagonalWithProducts(TileBuilder &builder, VectorProgram &queries,
                               Accumulators &accumulators, mlir::Value scores, mlir::Value values,
                               mlir::Value bound);

  mutable AttendOp op; // its accessors are not const
  bool usesState;
  const ProgramContext &context;
  Gates gates;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_PAIRPROGRAM_H

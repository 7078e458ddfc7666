//===- TokenAttend.h - one attend in a call of one token --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_TOKENATTEND_H
#define POLYATTN_CONVERSION_TOKENATTEND_H

#include "AttendProgram.h"

namespace polyattn {

/// Features of queries and of keys, and values, of a call of one token. As workspaces these
/// are [B, H, D], [B, Hkv, D] and [B, Hkv, dv], as tiles of one batch and head rows.
struct StepVectors {
  mlir::Value query, key, value;
};

/// One attend in a program of one token, or of a token of many batches: its features, and the
/// product of its query and a state that is updated where it lives.
class TokenAttend {
public:
  explicit TokenAttend(AttendProgram &program)
      : program(program), op(program.getOp()), context(program.getContext()), gates(op, context),
        width(op.getValue().getType().getWidth()) {}

  /// Stores the features of queries, or of keys and their values, for rows of batches.
  void storeQueries(TileBuilder &builder, const StepVectors &stored, VectorProgram &vectors);
  void storeKeys(TileBuilder &builder, const StepVectors &stored, VectorProgram &vectors);
  /// Computes or loads rows for the batch: of the query head at hand, or of keys and their values.
  void computeQueries(TileBuilder &builder, StepVectors &rows, VectorProgram &vectors) const;
  void computeKeys(TileBuilder &builder, StepVectors &rows, VectorProgram &vectors) const;
  /// Where a window slides in front of the state: the key that leaves it with this token, and its
  /// value; zeros where the window reaches over the sequence's first position.
  void computeLeavingKey(TileBuilder &builder, StepVectors &rows) const;
  void loadQueries(TileBuilder &builder, StepVectors &rows, const StepVectors &stored) const;
  void loadKeys(TileBuilder &builder, StepVectors &rows, const StepVectors &stored) const;
  /// What the query head has of the state where it lives, [1 x dv], once that has the key of these
  /// rows if they have one: other query heads that share the state only read it.
  Accumulators step(TileBuilder &builder, const StepVectors &rows, const FinalState &place) const;
  /// Like `step`, but reads the state before this token's update, and adds the token's own pair and
  /// those with its local block by scores.
  Accumulators stepBefore(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                          VectorProgram &queries, const BlockSpan &span);
  /// Reads the state where a window slides in front of it, before or after the key comes in that
  /// leaves the window (`BlockSpan::hasLeavingKey`), and adds the window's pairs.
  Accumulators stepWindow(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                          VectorProgram &queries, const BlockSpan &span);
  /// What the query head has of a window without a state.
  Accumulators scoreWindow(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span);

private:
  void addNear(TileBuilder &builder, VectorProgram &queries, const BlockSpan &span,
               Accumulators &sums);
  void storeFeatures(TileBuilder &builder, FeatureBlocks blocks, mlir::Value tensor,
                     mlir::Value head, VectorProgram &vectors);
  mlir::Value featureRow(TileBuilder &builder, FeatureBlocks blocks, VectorProgram &vectors) const;
  mlir::Value stepNormalizer(TileBuilder &builder, mlir::Value before, mlir::Value keys,
                             mlir::Value factor, const StoredState &stored) const;
  Accumulators stepState(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                         bool before) const;
  Accumulators stepDecayed(TileBuilder &builder, const StepVectors &rows, const FinalState &place,
                           VectorProgram &keys, mlir::Value values) const;

  AttendProgram &program;
  mutable AttendOp op; // its accessors are not const
  const ProgramContext &context;
  Gates gates;
  int64_t width; // dv
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_TOKENATTEND_H

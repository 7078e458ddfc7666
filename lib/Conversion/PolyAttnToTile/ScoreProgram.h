//===- ScoreProgram.h - scores of a pair of blocks --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_SCOREPROGRAM_H
#define POLYATTN_CONVERSION_SCOREPROGRAM_H

#include "VectorProgram.h"

namespace polyattn {

/// Gives the scores of a block of queries and one of keys that depend on their positions alone.
using LagScores =
    llvm::function_ref<mlir::Value(RelativeOp, const VectorProgram &, const VectorProgram &)>;

/// Computes now the query leaves that `buildScores` will need; called before a loop over keys.
void prepareScores(mlir::Value query, mlir::Value key, VectorProgram &queries);

/// kappa(q_i, k_j) times `factor` for a block of queries and one of keys, in its score
/// form: one dot for each pair of leaves and a polynomial of them. Outside of the triangle, where
/// there is one, the scores are not computed and may be any number.
mlir::Value buildScores(TileBuilder &builder, mlir::Value query, mlir::Value key,
                        VectorProgram &queries, VectorProgram &keys, LagScores lags, double factor,
                        tile::Triangle triangle);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_SCOREPROGRAM_H

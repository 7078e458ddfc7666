//===- ScoreSlopes.h - slopes of scores, as scores --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The score of two structured vectors is made of the scores <a, b> of the leaves under them, by
// sums, products, powers and exponentials. Its slope in one of these is so, too, and a score of
// structured vectors again: that of <a, b>^3 is 3 <a, b>^2, that of exp(<a, b>) is exp(<a, b>).
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TRANSFORMS_SCORESLOPES_H
#define POLYATTN_LIB_TRANSFORMS_SCORESLOPES_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/Builders.h"

namespace polyattn {

/// The slope of a score in that of two leaves: `factor` times <slopeQuery, slopeKey>, or `factor`
/// alone where these are null.
struct ScoreSlope {
  mlir::Value query, key;
  mlir::Value slopeQuery, slopeKey;
  double factor;
};

/// Whether the slopes of a score are scores: that of |score| is its sign, which is none.
bool hasScoreSlopes(mlir::Value vector);

/// The slopes of the score of `query` and `key`, which have one structure, in those of all pairs of
/// leaves, or of equal `relative` ops, that meet in it: each pair once, or as often as its slopes
/// have too many parts for one score.
llvm::SmallVector<ScoreSlope> scoreSlopes(mlir::OpBuilder &builder, mlir::Location loc,
                                          mlir::Value query, mlir::Value key);

} // namespace polyattn

#endif // POLYATTN_LIB_TRANSFORMS_SCORESLOPES_H

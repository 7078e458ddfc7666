//===- Normalizer.h - denominators of attentions ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_NORMALIZER_H
#define POLYATTN_CONVERSION_NORMALIZER_H

#include "Accumulators.h"
#include "ProgramContext.h"
#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// What a row is divided by comes from these, tiles [C x 1] or the elements of a map over them.
/// Null is what the normalizer does not ask for.
struct RowScores {
  mlir::Value sum;     // of the scores
  mlir::Value keys;    // that the row sees, of the call's; [C x 1] or [1 x 1]
  mlir::Value largest; // of the scores
  mlir::Value total;   // the denominator before its floor, where it has been computed
};

/// The factor of a block's rows, as `attr` says (NormalizerAttr).
struct RowNormalizer {
  NormalizerAttr attr;
  mlir::Value keysBefore; // f32: those that an initial state stands for; null for none
  bool hasEmptyRows;      // a row without keys is zero, whatever it would be divided by
  bool hasInitialState;   // and then it is not empty

  /// Whether some denominators follow their scores in another way than one to one, as a floor does.
  bool hasSlope() const;
  /// The denominators before their floor.
  mlir::Value totals(TileBuilder &builder, const RowScores &rows) const;
  /// What the numerators are multiplied by.
  mlir::Value factors(TileBuilder &builder, const RowScores &rows) const;
  /// The factors times what is added to the denominator for what is added to the scores, from rows
  /// with `total`: 0 where the floor is what a row is divided by.
  mlir::Value factorsOfScores(TileBuilder &builder, const RowScores &rows,
                              mlir::Value factors) const;

private:
  mlir::Value unit(ElementBuilder &builder, mlir::Value isEmpty, mlir::Value keys) const;
};

/// o = N over the denominator (NormalizerAttr), [C x dv], for a block of an attend's rows. Fills in
/// `factors`, if it is not null.
mlir::Value normalize(TileBuilder &builder, AttendOp op, const ProgramContext &context,
                      const Accumulators &accumulators, const BlockSpan &span, RowFactors *factors);

} // namespace polyattn

#endif // POLYATTN_CONVERSION_NORMALIZER_H

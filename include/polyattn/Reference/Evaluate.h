//===- Evaluate.h - the oracle ----------------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A readable f64 interpreter of the polyattn dialect, independent of the lowerings
// it checks. It reads an attention in two ways that must agree.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_REFERENCE_EVALUATE_H
#define POLYATTN_REFERENCE_EVALUATE_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "polyattn/Entry/CallSizes.h"
#include "polyattn/Reference/Array.h"
#include <functional>

namespace polyattn {

enum class Reading {
  /// Every score kappa(q_i, k_j) from its definition, O(T^2), no features where the
  /// structure has a score form.
  Scores,
  /// Features and a running state, position by position.
  Recurrent,
};

/// Which part of a result is wanted: where T is large, a few rows cost little. Everything
/// where the lists are empty.
struct Selection {
  /// Pairs of batch and query head.
  std::vector<std::pair<int64_t, int64_t>> heads;
  /// Query positions, ascending.
  std::vector<int64_t> rows;

  bool all() const { return heads.empty() && rows.empty(); }
};

/// What arithmetic other than f64 makes of a number, called for each that a vector consists of,
/// with each op that computes one, or for each score and each term of a row's and a state's sums;
/// exact where empty. Two evaluations that differ in it alone tell
/// how well the numbers of an attention are determined.
using Rounding = std::function<double(double)>;

/// True where rows can be evaluated alone: no attend reads what another one gives.
bool canSelect(AttentionOp attention);

/// Evaluates an attention on arguments whose shapes fit `sizes` (see Signature.h, which
/// checks them). Fails with a diagnostic where a reading is impossible: a state of
/// too many features, an odd power of |score|. With a selection, other rows are left zero and
/// other heads' final states NaN; the recurrent reading visits every row of a selected head all the
/// same. `rounding` is that of vectors, `terms` that of scores and terms.
mlir::FailureOr<std::vector<Array>> evaluate(AttentionOp attention, llvm::ArrayRef<Array> arguments,
                                             const CallSizes &sizes, Reading reading,
                                             const Selection &selection = {},
                                             const Rounding &rounding = {},
                                             const Rounding &terms = {});

} // namespace polyattn

#endif // POLYATTN_REFERENCE_EVALUATE_H

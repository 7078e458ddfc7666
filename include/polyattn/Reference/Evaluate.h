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
#include "polyattn/Reference/Array.h"

namespace polyattn {

enum class Reading {
  /// Every score kappa(q_i, k_j) from its definition, O(T^2), no features where the
  /// structure has a score form.
  Scores,
  /// Features and a running state, position by position.
  Recurrent,
};

/// The sizes that a call binds.
struct CallSizes {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, kvHeads = 0;
};

/// Evaluates an attention on arguments whose shapes fit `sizes` (see Signature.h, which
/// checks them). Fails with a diagnostic where a reading is impossible: a state of
/// too many features, an odd power of |score|.
mlir::FailureOr<std::vector<Array>> evaluate(AttentionOp attention,
                                             llvm::ArrayRef<Array> arguments,
                                             const CallSizes &sizes, Reading reading);

} // namespace polyattn

#endif // POLYATTN_REFERENCE_EVALUATE_H

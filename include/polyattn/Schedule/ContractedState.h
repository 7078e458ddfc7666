//===- ContractedState.h - states that are symmetric ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a query under the score s^2 / 2 is sum_j (q . k_j) (r . c_j) k_j, where r . c_j
// is the gradient of the score: an attend whose key has the features k x c, and whose value is k
// once more. Its state, the sum of k x c x k, is symmetric in both k. It is kept as a row c for
// each pair (a, b), a <= b, of elements of k, as the forward attend keeps one for each feature of
// k^2: half as many numbers. A query takes r from each row, which gives the gradient of its
// features, G_ab, and contracts that with q: o_b = sum_a q_a G_ab.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_CONTRACTEDSTATE_H
#define POLYATTN_SCHEDULE_CONTRACTEDSTATE_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

struct ContractedState {
  /// q and k: plain vectors of one width. k times a number is the attend's value.
  mlir::Value queryFactor, keyFactor;
  /// r and c: plain vectors, or two of them side by side, the second a single element.
  mlir::Value row, column;
  /// What the output is to be multiplied by, the attend's scale of scores included.
  double factor = 1;
  /// The part of it that keys and values have: what the sum of k x c x k is multiplied by.
  double stateFactor = 1;
  bool factorIsLast = false; // features are c x k

  /// None where the attend's state is no such one.
  static std::optional<ContractedState> of(AttendOp attend);

  /// The pairs (a, b).
  int64_t features() const;
  /// The elements of c.
  int64_t width() const;
};

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_CONTRACTEDSTATE_H

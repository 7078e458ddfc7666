//===- StateTerms.h - which sums an attend reads ----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_STATETERMS_H
#define POLYATTN_DIALECTS_STATETERMS_H

#include "dialects/PolyAttn/PolyAttn.h"

namespace polyattn {

/// A block of the sums of an op that gives a state, as it stands in a view of that state.
struct StateTerm {
  mutable StateUpdateInterface state; // its accessors are not const
  int64_t feature, features;          // of the state's features: the first one, and how many
  int64_t value, values;              // of the elements of its values
  bool isTransposed = false;          // a row of the view is an element of a value
  double factor = 1;
  int64_t row = 0, column = 0; // of the view: where the block begins

  int64_t rows() const { return isTransposed ? values : features; }
  int64_t columns() const { return isTransposed ? features : values; }
  /// Whether all sums of the state stand here as they are, times a number.
  bool isWhole() const;
};

/// The blocks that a state or a view of states has, without those of `unfold_pairs`, which has
/// none; `state` is then the state or the view.
llvm::SmallVector<StateTerm> termsOf(mlir::Value state);
/// The view that pairs are unfolded of, where a state is that of a contraction, which may be
/// scaled; null for any other.
mlir::Value pairsOf(mlir::Value state);
/// The ops whose sums a state is made of, each once.
llvm::SmallVector<StateUpdateInterface> statesIn(mlir::Value state);
/// The attends that read a state or a view of it, each once.
llvm::SmallVector<AttendOp> readersOf(StateUpdateInterface state);
/// Whether the sums are those of an attend's mask, decay and heads.
bool hasRecurrenceOfAttend(StateUpdateInterface state, AttendOp attend);

} // namespace polyattn

#endif // POLYATTN_DIALECTS_STATETERMS_H

//===- RunningState.h - the state that an attend reads ----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_RUNNINGSTATE_H
#define POLYATTN_LIB_REFERENCE_RUNNINGSTATE_H

#include "Evaluator.h"

namespace polyattn::reference {

/// The sums of one batch and head that an attend reads, key after key: its own, or those of the
/// `state` ops that the attend names, seen through the views of them.
class RunningState {
public:
  /// The sums before the first key. `begins` says whether the initial state is part of them.
  /// `vectors` are those of the attend, and outlive this.
  RunningState(Evaluator &evaluator, AttendOp op, const HeadVectors &vectors, int64_t batch,
               int64_t head, bool begins);

  /// Multiplies the sums by the transition of position i.
  void applyTransition(int64_t i);
  /// Adds key j.
  void add(int64_t j, const Rounding &terms);
  /// What the attend reads now, until this changes.
  const State &get();

private:
  struct Sums {
    StateUpdateInterface op; // null for those of the attend
    std::shared_ptr<const HeadVectors> own;
    State state;
  };
  const HeadVectors &vectorsOf(const Sums &sums) const { return sums.own ? *sums.own : vectors; }

  AttendOp attend;
  const HeadVectors &vectors;
  std::vector<Sums> all;
  State view; // of them, as last asked for
};

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_RUNNINGSTATE_H

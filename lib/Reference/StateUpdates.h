//===- StateUpdates.h - a position of a recurrence, in f64 ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_REFERENCE_STATEUPDATES_H
#define POLYATTN_LIB_REFERENCE_STATEUPDATES_H

#include "Evaluator.h"

namespace polyattn::reference {

/// Multiplies the sums by the transition of position i, as the op that gives them defines it.
/// `vectors` are those of the op.
void applyTransition(StateUpdateInterface op, const HeadVectors &vectors, int64_t i, State &state);
/// The same for an attend whose state no op names.
void applyTransition(AttendOp op, const HeadVectors &vectors, int64_t i, State &state);

} // namespace polyattn::reference

#endif // POLYATTN_LIB_REFERENCE_STATEUPDATES_H

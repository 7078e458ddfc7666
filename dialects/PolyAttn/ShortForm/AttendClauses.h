//===- AttendClauses.h - the words of an attend in the short form -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_SHORTFORM_ATTENDCLAUSES_H
#define POLYATTN_DIALECTS_SHORTFORM_ATTENDCLAUSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace polyattn::shortform {

/// A clause that follows the normalizer. It has the name of the op's operand or attribute.
struct AttendClause {
  enum class Kind { Flag, Whole, Number, Word, Tensor, Vector, Local, Factors, Schedule };
  llvm::StringLiteral name;
  Kind kind;
  /// The segment of the op's operands, of a tensor or a vector.
  int segment = -1;
};

/// In the order in which they are written.
inline constexpr AttendClause kAttendClauses[] = {
    {"local", AttendClause::Kind::Local, 3},
    {"block", AttendClause::Kind::Whole},
    {"window", AttendClause::Kind::Whole},
    {"decay", AttendClause::Kind::Tensor, 5},
    {"decay_factors", AttendClause::Kind::Factors},
    {"gate_heads", AttendClause::Kind::Word},
    {"initial", AttendClause::Kind::Tensor, 6},
    {"initial_normalizer", AttendClause::Kind::Tensor, 7},
    {"initial_transposed", AttendClause::Kind::Flag},
    {"final_state", AttendClause::Kind::Flag},
    {"score_scale", AttendClause::Kind::Number},
    {"signed_scores", AttendClause::Kind::Flag},
    {"grouping", AttendClause::Kind::Word},
    {"block_states", AttendClause::Kind::Tensor, 8},
    {"state_every", AttendClause::Kind::Whole},
    {"products", AttendClause::Kind::Vector, 9},
    {"factors", AttendClause::Kind::Flag},
    {"of_keys", AttendClause::Kind::Flag},
    {"schedule", AttendClause::Kind::Schedule},
};

/// What heads of unequal numbers are grouped by where nothing is said.
inline constexpr llvm::StringLiteral kStandardGrouping = "block", kNoGrouping = "none";

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_ATTENDCLAUSES_H

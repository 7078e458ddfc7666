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
  /// The text that an editor shows.
  llvm::StringLiteral about;
  /// The segment of the op's operands, of a tensor or a vector.
  int segment = -1;
};

/// In the order in which they are written.
inline constexpr AttendClause kAttendClauses[] = {
    {"local", AttendClause::Kind::Local,
     "local(query, key) block n: other scores inside of blocks of n positions", 3},
    {"block", AttendClause::Kind::Whole, "the positions of a local block"},
    {"sliding", AttendClause::Kind::Flag,
     "block n sliding: the other scores are those of keys at most n - 1 positions away"},
    {"window", AttendClause::Kind::Whole,
     "window n: a query sees keys at most n - 1 positions away"},
    {"decay", AttendClause::Kind::Tensor,
     "logarithms of decays, of each position and head, of each feature, or of each head", 5},
    {"decay_factors", AttendClause::Kind::Factors,
     "decay_factors(0.9, 0.8): the decays of the heads as numbers"},
    {"gate_heads", AttendClause::Kind::Word, "kv or q: whose heads the decay has"},
    {"initial", AttendClause::Kind::Tensor, "the state before the first position, [B, H, D, dv]",
     6},
    {"initial_normalizer", AttendClause::Kind::Tensor,
     "the normalizer's part of the initial state, [B, H, D]", 7},
    {"initial_transposed", AttendClause::Kind::Flag,
     "the initial state is given as its transpose, [B, H, dv, D]"},
    {"final_state", AttendClause::Kind::Flag, "returns the state after the last position"},
    {"score_scale", AttendClause::Kind::Number, "a factor of all scores"},
    {"signed_scores", AttendClause::Kind::Flag,
     "scores may be negative, so that a denominator may vanish"},
    {"precision", AttendClause::Kind::Word,
     "f32 or bf16: whether products may round their factors to bf16"},
    {"grouping", AttendClause::Kind::Word,
     "block, interleaved or none: which key head serves a query head"},
    {"block_states", AttendClause::Kind::Tensor,
     "states after blocks of positions, from a forward call", 8},
    {"state_every", AttendClause::Kind::Whole,
     "state_every n: keep the state after each n positions"},
    {"products", AttendClause::Kind::Vector,
     "products x: also returns, for each row, the sum of weights times <value, x>", 9},
    {"factors", AttendClause::Kind::Flag, "also returns the factors by which rows were multiplied"},
    {"of_keys", AttendClause::Kind::Flag,
     "in gradients: the query is a vector of keys, key and value are vectors of queries"},
    {"schedule", AttendClause::Kind::Schedule, "how the kernels compute the attend"},
};

/// What heads of unequal numbers are grouped by where nothing is said.
inline constexpr llvm::StringLiteral kStandardGrouping = "block", kNoGrouping = "none";

} // namespace polyattn::shortform

#endif // POLYATTN_DIALECTS_SHORTFORM_ATTENDCLAUSES_H

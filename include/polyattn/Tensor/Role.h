//===- Role.h - what a tensor is to a call ----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TENSOR_ROLE_H
#define POLYATTN_TENSOR_ROLE_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace polyattn {

/// What an argument or a result is to the attention.
enum class Role {
  Query,       // [B, T, H, d], read on the query side (perhaps on the key side, too)
  Key,         // [B, Tk, Hkv, d], reaches an attend as key
  Value,       // [B, Tk, Hkv, d], reaches an attend as value only
  Positional,  // [T, H, d], or [T, 1, d] for all heads; L rows where there is a first position
  Weight,      // a matrix, perhaps per head
  Vector,      // a vector, perhaps per head: a bias, a shift
  Gain,        // a vector that multiplies or divides: around 1
  Frequencies, // of a rotary embedding
  Lags,        // scores by the distance of positions, or their logarithms
  Decay,       // log g
  State,       // S or z
  First,       // [B], the position of the first row
  Slots,       // [B], the row of pools of states
  Lengths,     // [B], how many positions count
  Offsets,     // [N + 1], where packed sequences begin and end
  Output,      // a result [B, T, H, dv]
  Gradient,    // of a loss, in an argument or a result of the same shape
  Saved,       // what a forward call gives and a backward one takes
};
llvm::StringRef nameOf(Role role);
std::optional<Role> parseRole(llvm::StringRef name);

/// What the tensors of a role hold where an entry is stored in another type.
enum class RoleStorage {
  Chosen,    // that type
  F32,       // f32, whose accuracy their use needs
  Unchanged, // what they held: integers, or sums that f32 is for
};
RoleStorage storageOf(Role role);

/// What a call computes of an attention @NAME.
enum class CallDirection {
  Forward,        // its results: @NAME
  Training,       // its results, and what gradients need: @NAME__forward
  Backward,       // gradients of a loss in its arguments: @NAME__backward
  Decode,         // its results, and states that go on where they live: @NAME__decode
  States,         // what a segment of a sequence adds to the states after it: @NAME__states
  GradientStates, // and to the gradients of the states before it: @NAME__gradient_states
};
/// `forward`, `training`, `backward`, `decode`, `states` or `gradient_states`.
llvm::StringRef nameOf(CallDirection direction);
std::optional<CallDirection> parseDirection(llvm::StringRef name);
/// Those names, for errors.
inline constexpr llvm::StringLiteral kDirectionNames =
    "forward, training, backward, decode, states or gradient_states";
/// Whether a direction is about gradients, so that `wrt` says of what.
inline bool isAboutGradients(CallDirection direction) {
  return direction == CallDirection::Training || direction == CallDirection::Backward;
}
/// Whether a direction is about a segment of a sequence that goes on elsewhere.
inline bool isOfSegments(CallDirection direction) {
  return direction == CallDirection::States || direction == CallDirection::GradientStates;
}
/// What follows the attention's name in that of the entry: ``, `__forward`, `__backward`, ...
llvm::StringRef suffixOf(CallDirection direction);

} // namespace polyattn

#endif // POLYATTN_TENSOR_ROLE_H

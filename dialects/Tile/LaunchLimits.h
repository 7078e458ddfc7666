//===- LaunchLimits.h - the numbers that a launch may have ------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launcher computes with 64 bits and with arrays of fixed size. The verifier of `tile.entry` and
// that of launch plans, which come from files, too, both refuse what is outside of these limits.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_DIALECTS_TILE_LAUNCHLIMITS_H
#define POLYATTN_DIALECTS_TILE_LAUNCHLIMITS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace polyattn::tile {

/// An inclusive range.
struct Limits {
  int64_t least, most;
  bool contains(int64_t number) const { return number >= least && number <= most; }
};

/// The caller's tensors of an entry, the extents that count a stage's programs, the dimensions of a
/// workspace.
inline constexpr int64_t kMostTensors = 256, kMostExtents = 6, kMostDimensions = 6;
/// The workspaces of an entry. A gradient has one for each weight and kernel that adds to it.
inline constexpr int64_t kMostWorkspaces = 512;
/// The elements of a workspace, as far as they are known, and bytes of scratch.
inline constexpr int64_t kMostElements = int64_t(1) << 40;
/// The numbers of the workspace that `fill launch` describes, i64.
inline constexpr int64_t kLaunchNumbers = 4;

/// The numbers of an extent. What stands alone is no less than 0; what is added to a size may be.
inline bool areInLimits(bool isNumber, int64_t plus, int64_t divisor, int64_t times) {
  constexpr int64_t most = int64_t(1) << 40;
  return Limits{isNumber ? 0 : -most, most}.contains(plus) && Limits{1, most}.contains(divisor) &&
         Limits{0, most}.contains(times);
}

/// Multiplies the elements of a workspace by those of a dimension; INT64_MAX where they overflow.
inline void addDimension(int64_t &elements, int64_t known) {
  if (llvm::MulOverflow(elements, known, elements))
    elements = INT64_MAX;
}

/// A field of a choice, and of which choices it is.
struct ChoiceField {
  llvm::StringLiteral name;
  Limits limits;
  bool ofSegments, ofSplits, ofParts;
  /// `Base` is ExtentBase, or the enumeration of plans that stands for it.
  template <typename Base> bool isOf(Base choice) const {
    return choice == Base::Segments ? ofSegments : choice == Base::Splits ? ofSplits : ofParts;
  }
};

inline constexpr ChoiceField kChoiceFields[] = {
    {"block", {1, int64_t(1) << 31}, true, false, false},
    {"multiple", {1, int64_t(1) << 31}, true, true, false},
    {"min_positions", {0, int64_t(1) << 31}, true, true, false},
    {"prefix_cost_percent", {0, 10000}, true, false, false},
    {"subsegments", {1, 1 << 10}, true, false, false},
    {"max", {1, 1 << 16}, false, true, true},
    {"bytes", {1, kMostElements}, false, false, true}};

} // namespace polyattn::tile

#endif // POLYATTN_DIALECTS_TILE_LAUNCHLIMITS_H

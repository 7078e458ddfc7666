//===- Lanes.h - values of a warp's 32 lanes --------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_LANES_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_LANES_H

#include <array>
#include <cstdint>
#include <cstring>

namespace polyattn::gpumodel {

constexpr int kLanes = 32;
/// A bit for each lane.
using Mask = uint32_t;
constexpr Mask kAllLanes = ~Mask(0);
using Lanes = std::array<uint32_t, kLanes>;
using WideLanes = std::array<uint64_t, kLanes>;
using FloatLanes = std::array<float, kLanes>;

inline bool isSet(Mask mask, int lane) { return mask >> lane & 1; }
inline int firstLane(Mask mask) { return mask ? __builtin_ctz(mask) : 0; }

template <typename To, typename From> To bitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// A value of each lane, from a function of the lane.
template <typename Function> Lanes eachLane(Function function) {
  Lanes lanes;
  for (int lane = 0; lane < kLanes; ++lane)
    lanes[lane] = function(lane);
  return lanes;
}

/// The lanes of which a function is true.
template <typename Function> Mask lanesWhere(Function function) {
  Mask mask = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    mask |= static_cast<Mask>(static_cast<bool>(function(lane))) << lane;
  return mask;
}

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_LANES_H

//===- MultiplyLoops.h - how fast this processor multiplies -----*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_TARGET_CPU_MULTIPLYLOOPS_H
#define POLYATTN_LIB_TARGET_CPU_MULTIPLYLOOPS_H

#include <cstdint>
#include <optional>

namespace polyattn {

/// A loop of independent multiply-adds that keeps the multipliers busy.
struct MultiplyLoop {
  const char *name;
  /// Some microseconds of it; the number of floating-point operations.
  double (*run)();
};

/// Multiply-adds of f32 in the widest vectors of up to `lanes` lanes that this processor has.
MultiplyLoop f32Loop(int64_t lanes);
/// Products of bf16 pairs, added to f32; none where the processor lacks them.
std::optional<MultiplyLoop> bf16PairsLoop();

/// The rate of products of bf16 pairs over that of multiply-adds of f32, measured in about a
/// millisecond; 0 where there are none. A processor that has the instruction may execute it at half
/// the rate of an FMA, which does half of its work: then there is no gain.
double measureBF16Gain();

} // namespace polyattn

#endif // POLYATTN_LIB_TARGET_CPU_MULTIPLYLOOPS_H

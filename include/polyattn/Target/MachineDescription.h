//===- MachineDescription.h - what a lowering knows of a machine -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_MACHINEDESCRIPTION_H
#define POLYATTN_TARGET_MACHINEDESCRIPTION_H

#include <cstdint>
#include <string>

namespace polyattn {

/// Instructions of vectors that a lowering asks for, bits of a set.
enum class Instructions : uint32_t {
  None = 0,
  /// Multiply-adds of f32 and f64 that round once.
  Fma = 1 << 0,
  /// Rounding to integral values: floor, ceil, round to even.
  Round = 1 << 1,
  /// AVX-512, and its products of bf16 pairs, where these take less time than f32.
  AVX512 = 1 << 2,
  AVX512BF16 = 1 << 3,
  /// Intel's tiles, and their products of bf16.
  AMX = 1 << 4,
  AMXBF16 = 1 << 5,
};
constexpr Instructions operator|(Instructions a, Instructions b) {
  return Instructions(uint32_t(a) | uint32_t(b));
}
constexpr Instructions operator&(Instructions a, Instructions b) {
  return Instructions(uint32_t(a) & uint32_t(b));
}

/// One processor, as the lowerings and the code generator see it.
struct MachineDescription {
  MachineDescription() = default;
  MachineDescription(int64_t width, int64_t registers, int64_t l1, Instructions instructions)
      : vectorWidth(width), vectorRegisters(registers), l1Bytes(l1), instructions(instructions) {}

  /// Lanes of f32 in a vector register.
  int64_t vectorWidth = 4;
  int64_t vectorRegisters = 16;
  /// Vector instructions of an iteration beside which the loop's own take few issue slots.
  int64_t hidingInstructions = 16;
  /// Sums under way at once that keep the multipliers busy: two ports of four or five cycles'
  /// latency, and some to spare.
  int64_t fewestSums = 12;
  /// Caches of one core, in bytes.
  int64_t l1Bytes = 32 * 1024;
  int64_t l2Bytes = 256 * 1024;
  Instructions instructions = Instructions::None;
  /// The name under which the user asked for it, for instance "x86-64-v3".
  std::string name;
  std::string triple;
  /// LLVM's names for the processor and its features ("+avx2,+fma").
  std::string cpu;
  std::string features;
  /// The x86-64 level that code for it needs, "x86-64-v3" or "x86-64-v4", or empty.
  std::string level;
  /// What of `features` and of that level a processor may lack, "avx2,fma": code for it is not run
  /// where one of them is missing.
  std::string needed;

  /// Registers that a micro-kernel may use as accumulators: the rest holds a row of B, one
  /// broadcast element of A and temporaries of the epilogue.
  int64_t accumulators() const { return vectorRegisters * 3 / 4; }

  /// Whether it has all of these.
  bool has(Instructions asked) const { return (instructions & asked) == asked; }
};

} // namespace polyattn

#endif // POLYATTN_TARGET_MACHINEDESCRIPTION_H

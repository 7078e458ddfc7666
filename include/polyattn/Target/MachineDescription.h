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

/// One processor, as the lowerings and the code generator see it.
struct MachineDescription {
  MachineDescription() = default;
  MachineDescription(int64_t width, int64_t registers, int64_t l1)
      : vectorWidth(width), vectorRegisters(registers), l1Bytes(l1) {}

  /// Lanes of f32 in a vector register.
  int64_t vectorWidth = 4;
  int64_t vectorRegisters = 16;
  /// Caches of one core, in bytes.
  int64_t l1Bytes = 32 * 1024;
  int64_t l2Bytes = 256 * 1024;
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
};

} // namespace polyattn

#endif // POLYATTN_TARGET_MACHINEDESCRIPTION_H

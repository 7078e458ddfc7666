//===- MachineDescription.h - what a lowering must know of a CPU -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_TARGET_MACHINEDESCRIPTION_H
#define POLYATTN_TARGET_MACHINEDESCRIPTION_H

#include <algorithm>
#include <cstdint>

namespace polyattn {

/// The part of a processor that decides how tiles are cut into registers.
struct MachineDescription {
  int64_t vectorWidth = 16;     ///< f32 lanes of one vector register, a power of two of at least 4
  int64_t vectorRegisters = 32; ///< architectural vector registers
  int64_t l1Bytes = 32768;      ///< data cache next to the core

  /// Registers that a micro-kernel may use as accumulators: the rest holds a row of B, one
  /// broadcast element of A and temporaries of the epilogue.
  int64_t accumulators() const { return vectorRegisters * 3 / 4; }

  static MachineDescription avx512() { return {16, 32, 32768}; }
  static MachineDescription avx2() { return {8, 16, 32768}; }
  static MachineDescription portable() { return {4, 16, 32768}; }
};

} // namespace polyattn

#endif // POLYATTN_TARGET_MACHINEDESCRIPTION_H

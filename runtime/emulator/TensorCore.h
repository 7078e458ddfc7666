//===- TensorCore.h - products and matrices of a warp -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_RUNTIME_EMULATOR_TENSORCORE_H
#define POLYATTN_RUNTIME_EMULATOR_TENSORCORE_H

#include <cstdint>

namespace polyattn::emulator {

/// In the order of the warp dialect's enumeration.
enum class OperandKind : uint32_t { BF16, F16, TF32 };

/// D = A B + C. Each lane has four registers of A, then two of B, and four accumulators, which are
/// replaced. The layouts are those of `warp.mma_sync`.
void multiply(OperandKind kind, const uint32_t *const operands[32], float *const accumulators[32]);

/// Distributes an 8x8 matrix of 16-bit elements over the lanes, a register each.
void distribute(const uint16_t matrix[8][8], bool transposed, uint32_t registers[32]);

} // namespace polyattn::emulator

#endif // POLYATTN_RUNTIME_EMULATOR_TENSORCORE_H

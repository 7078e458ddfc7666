//===- Execute.h - what instructions do to registers ------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_EXECUTE_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_EXECUTE_H

#include "Registers.h"

namespace polyattn::gpumodel {

/// What a warp reads from special registers.
struct Identity {
  uint32_t cta = 0, rank = 0, warp = 0, cluster = 1, grid = 1, threads = 32;
};

/// Executes an instruction that is neither memory nor control. Addresses, predicates and loops
/// depend on integers, which are exact. Floats are rounded by the host; packed halves and doubles
/// are constants, and a matrix product is its addend, as no branch depends on them.
void execute(const Instruction &instruction, Registers &registers, Mask mask,
             const Identity &identity, uint32_t clock);

/// Parts of the above; false where the instruction is of another part.
bool executeInteger(const Instruction &instruction, Registers &registers, Mask mask);
bool executeFloat(const Instruction &instruction, Registers &registers, Mask mask);

/// SHFL, which also occupies the load/store unit.
void executeShuffle(const Instruction &instruction, Registers &registers, Mask mask);

/// Comparisons 1 to 6, which all numbers have; others do not hold.
template <typename Number> bool holdsInOrder(int comparison, Number a, Number b) {
  switch (comparison) {
  case 1:
    return a < b;
  case 2:
    return a == b;
  case 3:
    return a <= b;
  case 4:
    return a > b;
  case 5:
    return a != b;
  case 6:
    return a >= b;
  default:
    return false;
  }
}

/// Whether a comparison of opcode order (LT, EQ, ...) holds.
bool holds(int comparison, int64_t a, int64_t b);
bool holds(int comparison, float a, float b);

/// The destinations of a comparison: the result and its complement, joined with a predicate.
void writeComparison(const Instruction &instruction, Registers &registers, Mask result, Mask mask);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_EXECUTE_H

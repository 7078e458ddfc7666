//===- MicroKernel.cpp - which micro-kernel multiplies what ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroKernel.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using tile::Precision;

namespace {
/// One micro-kernel, what it multiplies, and what a machine must have for it.
struct Row {
  Precision precision;
  bool (*takes)(Type element);
  Instructions needed;
  const MicroKernel &(*kernel)();
};
} // namespace

static bool isF32(Type type) { return type.isF32(); }
static bool isF64(Type type) { return type.isF64(); }

// The first that fits is taken: the fastest of a precision comes first. Without an instruction for
// it a multiply-add is two operations.
static const Row kRows[] = {
    {Precision::F32, isF32, Instructions::None, fmaKernel},
    {Precision::F64, isF64, Instructions::None, fmaKernel},
};

const MicroKernel *tile_to_vector::findMicroKernel(Precision precision, Type lhs, Type rhs,
                                                   const MachineDescription &machine) {
  for (const Row &row : kRows)
    if (row.precision == precision && row.takes(lhs) && row.takes(rhs) && machine.has(row.needed))
      return &row.kernel();
  return nullptr;
}

int64_t tile_to_vector::stepsPerIteration(const MachineDescription &machine, int64_t products,
                                          int64_t rows, int64_t vectors) {
  constexpr int64_t most = 4;
  int64_t steps = 1;
  // A load of the next step comes early. Where the sums, a row of B and an element of A are as many
  // as the registers, sums would move between registers for it.
  if (products * rows * vectors + vectors + 1 == machine.vectorRegisters)
    return steps;
  while (steps < most && steps * products * rows * vectors < machine.hidingInstructions)
    steps *= 2;
  return steps;
}

//===- Registers.h - registers of a warp ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_REGISTERS_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_REGISTERS_H

#include "Instruction.h"
#include "Lanes.h"
#include <vector>

namespace polyattn::gpumodel {

/// Constant banks: 0 has the parameters, 4 addresses of tables.
class Constants {
public:
  void set(int bank, uint32_t offset, const void *data, size_t size);
  /// Zero where nothing was set.
  uint32_t read(int bank, int64_t offset) const;

private:
  std::array<std::vector<uint8_t>, 8> banks;
};

class Registers {
public:
  explicit Registers(const Constants &constants);

  /// The 32 bits of an operand without its signs.
  Lanes raw(const Operand &operand) const;
  /// The next 32 bits: the second half of a pair.
  Lanes rawUpper(const Operand &operand) const;
  Lanes integer(const Operand &operand) const;
  WideLanes wide(const Operand &operand) const;
  FloatLanes floats(const Operand &operand) const;
  Mask predicate(const Operand &operand) const;
  Mask predicateAt(int index) const { return predicates[index]; }
  /// Addresses of memory: 64 bits where a register says so, else 32.
  WideLanes addresses(const Operand &operand) const;

  /// Writes the lanes of a mask. `next` counts further registers of a group.
  void write(const Operand &operand, const Lanes &value, Mask mask, int next = 0);
  void writePredicate(const Operand &operand, Mask value, Mask mask);
  void writePredicateAt(int index, Mask value, Mask mask);

private:
  const Constants &constants;
  std::vector<Lanes> vector = std::vector<Lanes>(kZeroRegister + 1);
  std::array<uint32_t, 64> uniform{};
  std::array<Mask, kUniformTrue + 1> predicates{};
};

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_REGISTERS_H

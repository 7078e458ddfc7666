//===- Program.h - the machine code of a kernel -----------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_PROGRAM_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_PROGRAM_H

#include "Instruction.h"
#include <string>
#include <unordered_map>
#include <vector>

namespace polyattn::gpumodel {

struct Program {
  std::vector<Instruction> instructions;
  std::unordered_map<uint32_t, int> indexOfAddress;
};

/// Reads `nvdisasm -c -hex`: the section `.text.KERNEL`, or the only section of the text.
Program readDisassembly(const std::string &text, const std::string &kernel);

/// An operand as it is printed, such as `-R2.reuse`, `c[0x0][0x210]` or `desc[UR4][R2.64+0x10]`.
Operand readOperand(const std::string &text);

/// The upper eight bytes of an encoding have the control word.
Control readControl(uint64_t upper);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_PROGRAM_H

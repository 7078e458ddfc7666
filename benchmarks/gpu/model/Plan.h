//===- Plan.h - how an entry's kernels are launched for sizes of-*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_PLAN_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_PLAN_H

#include "Machine.h"
#include <ostream>

namespace polyattn::gpumodel {

/// Reads a launch plan (docs/Calling.md) with the sizes of a call, one thing a line, and writes a
/// JSON object: the segments and parts that the runtime chooses on this machine, the programs of
/// each stage and the shape of each workspace. README.md has the lines.
void writeChoices(std::ostream &out, const std::string &text, const Machine &machine);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_PLAN_H

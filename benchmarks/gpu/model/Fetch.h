//===- Fetch.h - instruction fetch ------------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_FETCH_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_FETCH_H

#include "Multiprocessor.h"

namespace polyattn::gpumodel {

/// Asks for the line of a warp's next instruction, unless the warp has it, and for the lines after
/// it: through a cache of the sub-core and one of the multiprocessor.
void fetch(Warp &warp, uint32_t address, Clock at, Multiprocessor &multiprocessor,
           const Machine &machine, Statistics &statistics);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_FETCH_H

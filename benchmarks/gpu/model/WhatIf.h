//===- WhatIf.h - bounds of changes that are not written --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_WHATIF_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_WHATIF_H

#include "Program.h"

namespace polyattn::gpumodel {

/// What would cost nothing.
struct WhatIf {
  bool copiesAhead = false, stateOnChip = false, weightsOnChip = false, noBarriers = false,
       noConflicts = false, noFetch = false, wgmma = false;
  /// Regular expressions of instructions.
  std::vector<std::string> free;

  /// Marks instructions as free.
  void apply(Program &program) const;
};

/// Adds one of them, `free:REGEX` or a name; a Failure says which name is nearest.
void addWhatIf(WhatIf &whatIf, const std::string &text);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_WHATIF_H

//===- Report.h - what a simulation found -----------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef POLYATTN_BENCHMARKS_GPU_MODEL_REPORT_H
#define POLYATTN_BENCHMARKS_GPU_MODEL_REPORT_H

#include "Launch.h"
#include "Program.h"
#include "Statistics.h"
#include <ostream>

namespace polyattn::gpumodel {

/// A JSON object: milliseconds of the launch, counts, and clocks of warps by cause.
void writeReport(std::ostream &out, const Machine &machine, const Launch &launch,
                 const Placement &placement, const Statistics &statistics);

/// A line for each instruction: address, executions, clocks that warps waited before it, the cause
/// of most of them, and the instruction.
void writeProfile(std::ostream &out, const Program &program, const Statistics &statistics);

} // namespace polyattn::gpumodel

#endif // POLYATTN_BENCHMARKS_GPU_MODEL_REPORT_H

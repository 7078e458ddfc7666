//===- CPU.h - from a spec to the LLVM dialect ------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PIPELINES_CPU_H
#define POLYATTN_PIPELINES_CPU_H

#include "mlir/Pass/PassManager.h"
#include "polyattn/Target/MachineDescription.h"

namespace polyattn {

/// The levels at which the pipeline can stop. Schedule is still the polyattn dialect: maps inlined,
/// features simplified, schedules chosen. Vector is one function per tile kernel.
enum class CPUPipelinePhase { Schedule, Tile, Vector, LLVMDialect };

struct CPUPipelineOptions {
  MachineDescription machine;
  CPUPipelinePhase stopAfter = CPUPipelinePhase::LLVMDialect;
};

/// The passes that take a spec to the LLVM dialect. polyattn-opt, polyattn-compile, the JIT and
/// the C API all run this.
void buildCPUPipeline(mlir::OpPassManager &passes, const CPUPipelineOptions &options);

/// `--polyattn-cpu-pipeline="target=NAME stop-after=schedule|tile|vector|llvm"`.
void registerCPUPipeline();

} // namespace polyattn

#endif // POLYATTN_PIPELINES_CPU_H

//===- GPU.h - from a spec to a GPU's LLVM dialect --------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_PIPELINES_GPU_H
#define POLYATTN_PIPELINES_GPU_H

#include "mlir/Pass/PassManager.h"
#include "polyattn/Target/GPUDescription.h"

namespace polyattn {

/// The levels at which the pipeline can stop. Warp is one gpu.func per kernel, the program of a
/// thread; the launch is described by its attributes, which the LLVM dialect has no more.
enum class GPUPipelinePhase { Schedule, Tile, Warp, LLVMDialect };

struct GPUPipelineOptions {
  GPUDescription chip;
  GPUPipelinePhase stopAfter = GPUPipelinePhase::LLVMDialect;
};

/// The passes that take a spec to the LLVM and NVVM dialects, in a gpu.module.
void buildGPUPipeline(mlir::OpPassManager &passes, const GPUPipelineOptions &options);

/// The part of it that ends with tile kernels in the tile dialect, and the part from there to
/// kernels in the warp dialect.
void buildTileKernels(mlir::OpPassManager &passes, const GPUPipelineOptions &options);
void buildWarpKernels(mlir::OpPassManager &passes, const GPUPipelineOptions &options);

/// The part of it from kernels in the warp dialect on.
void buildWarpToNVVMPipeline(mlir::OpPassManager &passes, const GPUDescription &chip);

/// `--polyattn-nvptx-pipeline="target=sm_90 stop-after=schedule|tile|warp|llvm"` and
/// `--polyattn-warp-to-nvvm-pipeline` (as for sm_80).
void registerGPUPipelines();

} // namespace polyattn

#endif // POLYATTN_PIPELINES_GPU_H

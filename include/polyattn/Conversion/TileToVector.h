//===- TileToVector.h - tile kernels to vector code -------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_TILETOVECTOR_H
#define POLYATTN_CONVERSION_TILETOVECTOR_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "polyattn/Target/MachineDescription.h"

namespace polyattn {

/// Turns every tile.kernel into a function
///
///     func @name(%tensors: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
///
/// that runs the programs [begin, end) of the kernel's grid, whose last axis is counted fastest.
/// `tensors` points to one pointer for each tensor, each to a strided memref descriptor; `scratch`
/// to 64-byte aligned memory of this thread, `tile.scratch_bytes` of it.
std::unique_ptr<mlir::Pass> createTileToVectorPass(const MachineDescription &machine = {});

/// From the output of tile-to-vector to the LLVM dialect, for a machine with `instructions` as
/// `toText` (polyattn/Target/CPU.h) writes them.
void buildVectorToLLVMPipeline(mlir::OpPassManager &pm, const std::string &instructions);

/// Registers the pipeline --polyattn-vector-to-llvm-pipeline.
void registerTileToVectorPasses();

} // namespace polyattn

#endif // POLYATTN_CONVERSION_TILETOVECTOR_H

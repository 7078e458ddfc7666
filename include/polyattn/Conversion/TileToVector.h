//===- TileToVector.h - block programs to vector code -*- C++ -*-===//
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

/// Iterations every tile.kernel into a function
///
///     func @name(%tensors: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
///
/// that runs the programs [begin, end), program p being batch p / H and head p % H. `tensors`
/// points to one pointer for each tensor, each to a strided memref descriptor; `scratch` to 64-byte
/// aligned memory of this thread, `polyattn.scratch_bytes` of it. H is the size of dimension 2
/// of the tensor that the kernel's attribute `query_tensor` names, else the first of rank 4; Hkv
/// that of `key_tensor` or the second. The attribute `grouping` of a kernel says which head of keys
/// serves a head of queries: "block" (head / (H / Hkv)) or "interleaved" (head % Hkv).
std::unique_ptr<mlir::Pass> createTileToVectorPass(const MachineDescription &machine = {});

/// From the output of tile-to-vector to the LLVM dialect.
void buildVectorToLLVMPipeline(mlir::OpPassManager &pm);

/// Registers the pipeline --polyattn-vector-to-llvm-pipeline.
void registerTileToVectorPasses();

} // namespace polyattn

#endif // POLYATTN_CONVERSION_TILETOVECTOR_H

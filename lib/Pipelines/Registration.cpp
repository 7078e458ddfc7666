//===- Registration.cpp - dialects and passes of the project --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Pipelines/Registration.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "dialects/Tile/Tile.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Conversion/TileToVector.h"
#include "polyattn/Pipelines/CPU.h"
#include "polyattn/Pipelines/Direction.h"
#include "polyattn/Pipelines/GPU.h"
#include "polyattn/TileTransforms/Passes.h"
#include "polyattn/Transforms/Passes.h"

void polyattn::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<PolyAttnDialect, tile::TileDialect, warp::WarpDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect,
                  mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
}

void polyattn::registerPasses() {
  mlir::registerTransformsPasses();
  registerPolyAttnPasses();
  registerPolyAttnTileTransformsPasses();
  registerPolyAttnConversionPasses();
  registerDirectionPipeline();
  registerCPUPipeline();
  registerGPUPipelines();
  registerTileToVectorPasses();
}

//===- VectorToLLVM.cpp - vector code to the LLVM dialect -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "lib/Conversion/ToLLVM/ConvertToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Conversion/TileToVector.h"

namespace polyattn {
#define GEN_PASS_DEF_VECTORTOLLVM
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;

namespace {

/// One conversion for every dialect that tile-to-vector uses.
struct VectorToLLVMPass : polyattn::impl::VectorToLLVMBase<VectorToLLVMPass> {
  void runOnOperation() final {
    MLIRContext *context = &getContext();
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    // How the functions are launched stays beside them.
    target.addLegalOp<polyattn::tile::EntryOp>();
    target.markOpRecursivelyLegal<polyattn::tile::EntryOp>();
    LLVMTypeConverter converter(context);
    RewritePatternSet patterns(context);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    if (failed(polyattn::convertToLLVM(getOperation(), target, converter, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void polyattn::buildVectorToLLVMPipeline(OpPassManager &pm, const std::string &instructions) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(polyattn::createExpandMath({/*hasExp2=*/false}));
  functions.addPass(polyattn::createLegalizeMath({instructions}));
  pm.addPass(createVectorToLLVM());
}

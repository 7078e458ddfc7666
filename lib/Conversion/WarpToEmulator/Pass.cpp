//===- Pass.cpp - --warp-to-emulator --------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallEmitter.h"
#include "lib/Conversion/ToLLVM/ConvertToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTWARPTOEMULATOR
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

/// Refuses what the emulator cannot run before anything is changed.
static LogicalResult checkKernel(ModuleOp module, gpu::GPUFuncOp kernel) {
  if (!kernel.isKernel())
    return kernel.emitOpError("expected a kernel");
  if (kernel.getNumWorkgroupAttributions() || kernel.getNumPrivateAttributions())
    return kernel.emitOpError("expected no attributions: shared memory is one allocation");
  if (module.lookupSymbol(kernel.getName()))
    return kernel.emitOpError("its module has this name already");
  for (Type type : kernel.getArgumentTypes())
    if (!type.isInteger(64) && !isa<LLVM::LLVMPointerType>(type))
      return kernel.emitOpError("expected parameters of 8 bytes, got ") << type;
  return success();
}

/// A function of a pointer to the parameters, with the kernel's body.
static func::FuncOp createFunction(gpu::GPUFuncOp kernel, OpBuilder &builder) {
  MLIRContext *context = kernel.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getName(),
                                       builder.getFunctionType(pointer, {}));
  function.getBody().takeBody(kernel.getBody());
  Block &entry = function.getBody().front();
  Value parameters = entry.addArgument(pointer, kernel.getLoc());
  OpBuilder body = OpBuilder::atBlockBegin(&entry);
  unsigned count = entry.getNumArguments() - 1;
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = entry.getArgument(i);
    Value place = LLVM::GEPOp::create(body, argument.getLoc(), pointer, body.getI64Type(),
                                      parameters, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    argument.replaceAllUsesWith(
        LLVM::LoadOp::create(body, argument.getLoc(), argument.getType(), place));
  }
  entry.eraseArguments(0, count);
  function.walk([](gpu::ReturnOp op) {
    OpBuilder end(op);
    func::ReturnOp::create(end, op.getLoc());
    op.erase();
  });
  return function;
}

static LogicalResult convertFunctions(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  // Functions of libm only where LLVM has no intrinsic.
  populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false,
                                       /*benefit=*/2);
  populateMathToLibmConversionPatterns(patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  return convertToLLVM(module, target, converter, std::move(patterns));
}

namespace {
struct ConvertWarpToEmulator : polyattn::impl::ConvertWarpToEmulatorBase<ConvertWarpToEmulator> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    for (auto kernels : module.getOps<gpu::GPUModuleOp>())
      for (Operation &op : *kernels.getBody()) {
        auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
        if (!kernel) {
          op.emitOpError("expected only kernels in a gpu.module");
          return signalPassFailure();
        }
        if (failed(checkKernel(module, kernel)))
          return signalPassFailure();
      }
    for (auto kernels : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      OpBuilder builder(kernels);
      for (auto kernel : kernels.getOps<gpu::GPUFuncOp>()) {
        func::FuncOp function = createFunction(kernel, builder);
        CallEmitter emitter(module, function);
        emitter.run();
        function->setAttr(warp::kSitesAttrName, emitter.getSites());
      }
      kernels.erase();
    }
    if (failed(convertFunctions(module)))
      signalPassFailure();
  }
};
} // namespace

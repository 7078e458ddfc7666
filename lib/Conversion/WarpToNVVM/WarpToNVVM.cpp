//===- WarpToNVVM.cpp - kernels to the LLVM dialect -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "lib/Conversion/ToLLVM/ConvertToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "polyattn/Conversion/Passes.h"
#include "polyattn/Target/GPUDescription.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTWARPTONVVM
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

struct Kernel : ConvertOpToLLVMPattern<gpu::GPUFuncOp> {
  Kernel(const LLVMTypeConverter &converter, int64_t sharedBytesPerSM)
      : ConvertOpToLLVMPattern(converter), sharedBytesPerSM(sharedBytesPerSM) {}
  LogicalResult matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TypeConverter::SignatureConversion signature(op.getNumArguments());
    Type type = getTypeConverter()->convertFunctionSignature(
        op.getFunctionType(), /*isVariadic=*/false, /*useBarePtrCallConv=*/false, signature);
    if (!type)
      return rewriter.notifyMatchFailure(op, "a parameter of a type that LLVM does not have");
    auto function = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getName(), type);
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    int32_t threads = op->getAttrOfType<IntegerAttr>(warp::kThreadsAttrName).getInt();
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      rewriter.getDenseI32ArrayAttr({threads, 1, 1}));
    if (int64_t blocks = blocksWanted(op, threads))
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        rewriter.getI32IntegerAttr(blocks));
    if (auto cluster = int32_t(warp::getClusterSize(op)); cluster > 1)
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        rewriter.getDenseI32ArrayAttr({cluster, 1, 1}));
    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), *getTypeConverter(), &signature)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// For how many CTAs on a multiprocessor registers should be saved, or 0 where that is not known.
  /// ptxas would rather spill than not reach a round number of them, also where shared memory does
  /// not fit so many: all of the registers that threads could use are theirs.
  int64_t blocksWanted(gpu::GPUFuncOp op, int64_t threads) const {
    auto shared = op->getAttrOfType<IntegerAttr>(warp::kSharedBytesAttrName);
    if (!shared)
      return 0;
    return GPUDescription::blocksPerSM(threads, shared.getInt(), sharedBytesPerSM);
  }
  int64_t sharedBytesPerSM;
};

using Return = OneToOneConvertToLLVMPattern<gpu::ReturnOp, LLVM::ReturnOp>;

struct ConvertWarpToNVVMPass : polyattn::impl::ConvertWarpToNVVMBase<ConvertWarpToNVVMPass> {
  using ConvertWarpToNVVMBase::ConvertWarpToNVVMBase;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(check(function)))
        return signalPassFailure();
      readWarpIdOnce(function);
    }
    if (failed(unrollLoops(getOperation())))
      return signalPassFailure();
    addSharedMemory();
    Tables tables = addTables();

    MLIRContext *context = &getContext();
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    LLVMTypeConverter converter(context);
    RewritePatternSet patterns(context);
    patterns.add<Kernel>(converter, sharedBytesPerSM);
    patterns.add<Return>(converter);
    populateThreadIdPatterns(converter, patterns);
    populateClusterPatterns(converter, patterns);
    populateMemoryPatterns(converter, patterns, tables);
    populateFragmentPatterns(converter, patterns);
    populateFunctionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    if (failed(convertToLLVM(getOperation(), target, converter, std::move(patterns))))
      signalPassFailure();
  }

private:
  LogicalResult check(gpu::GPUFuncOp function) const {
    if (!function.isKernel() || function.getNumResults())
      return function.emitOpError("expected a kernel without results");
    if (!function->hasAttr(warp::kThreadsAttrName))
      return function.emitOpError("expected '") << warp::kThreadsAttrName << "'";
    if (int64_t cluster = warp::getClusterSize(function); cluster > maxBlocksPerCluster)
      return function.emitOpError("wants clusters of ")
             << cluster << " CTAs, and chips below sm_90 have none";
    WalkResult walked = function.walk([](Operation *op) {
      if (!isa<math::MathDialect>(op->getDialect()) || hasInstruction(op))
        return WalkResult::advance();
      op->emitOpError("has no instruction on a GPU, and was not expanded");
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  /// The number of the warp is a broadcast in it, so its threads must read it together: at the
  /// start they are.
  static void readWarpIdOnce(gpu::GPUFuncOp function) {
    SmallVector<warp::WarpIdOp> uses;
    function.walk([&](warp::WarpIdOp op) { uses.push_back(op); });
    if (uses.empty())
      return;
    OpBuilder builder(function.getContext());
    builder.setInsertionPointToStart(&function.getBody().front());
    Value number = warp::WarpIdOp::create(builder, function.getLoc());
    for (warp::WarpIdOp use : uses) {
      use.replaceAllUsesWith(number);
      use.erase();
    }
  }

  /// A symbol for something that kernels use: the name, or one like it where a kernel has the name.
  std::string freeSymbol(StringRef name) {
    std::string symbol = name.str();
    for (unsigned i = 0; getOperation().lookupSymbol(symbol); ++i)
      symbol = (name + "_" + Twine(i)).str();
    return symbol;
  }

  /// Declares dynamic shared memory, whose size a launch gives; 128 bytes are once around the
  /// banks.
  void addSharedMemory() {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, getOperation().getLoc(), type, /*isConstant=*/false,
                           LLVM::Linkage::External, freeSymbol("dynamic_shared_memory"),
                           Attribute(), /*alignment=*/128, kSharedSpace);
  }

  Tables addTables() {
    Tables tables;
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    getOperation().walk([&](warp::LookupOp op) {
      std::string name = freeSymbol("table_" + std::to_string(tables.size()));
      if (!tables.try_emplace(op.getTable(), name).second)
        return;
      auto type = LLVM::LLVMArrayType::get(op.getType(), op.getTable().getNumElements());
      LLVM::GlobalOp::create(builder, op.getLoc(), type, /*isConstant=*/true,
                             LLVM::Linkage::Internal, name, op.getTable(), /*alignment=*/16,
                             kGlobalSpace);
    });
    return tables;
  }
};

} // namespace

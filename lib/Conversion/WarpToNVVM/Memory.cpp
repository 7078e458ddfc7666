//===- Memory.cpp - loads, stores and copies ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace polyattn;

Value polyattn::createSharedPointer(OpBuilder &builder, Location location, Value address) {
  Type type =
      LLVM::LLVMPointerType::get(builder.getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  Value base = LLVM::AddressOfOp::create(builder, location, type, kSharedMemory);
  return LLVM::GEPOp::create(builder, location, type, builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{address});
}

static Value createGlobalPointer(OpBuilder &builder, Location location, Value base, Value offset) {
  return LLVM::GEPOp::create(builder, location, base.getType(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// An access of n bytes is aligned to n bytes.
static unsigned alignmentOf(Type type) {
  int64_t elements = 1;
  if (auto vector = dyn_cast<VectorType>(type))
    elements = vector.getNumElements();
  return elements * getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

namespace {

struct LoadShared : ConvertOpToLLVMPattern<warp::LoadSharedOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::LoadSharedOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value pointer = createSharedPointer(rewriter, op.getLoc(), adaptor.getAddress());
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), pointer, alignmentOf(op.getType()));
    return success();
  }
};

struct StoreShared : ConvertOpToLLVMPattern<warp::StoreSharedOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::StoreSharedOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value pointer = createSharedPointer(rewriter, op.getLoc(), adaptor.getAddress());
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValue(), pointer,
                                               alignmentOf(op.getValue().getType()));
    return success();
  }
};

/// What nobody writes is an invariant load, for which there is an instruction of its own
/// (ld.global.nc).
struct LoadGlobal : ConvertOpToLLVMPattern<warp::LoadGlobalOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::LoadGlobalOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value pointer =
        createGlobalPointer(rewriter, op.getLoc(), adaptor.getBase(), adaptor.getOffset());
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), pointer, alignmentOf(op.getType()),
                                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                                              /*isInvariant=*/op.getReadOnly());
    return success();
  }
};

struct StoreGlobal : ConvertOpToLLVMPattern<warp::StoreGlobalOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::StoreGlobalOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value pointer =
        createGlobalPointer(rewriter, op.getLoc(), adaptor.getBase(), adaptor.getOffset());
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValue(), pointer,
                                               alignmentOf(op.getValue().getType()));
    return success();
  }
};

/// Tables lie in global memory: lanes read different elements, for which constant memory is not
/// made.
struct Lookup : ConvertOpToLLVMPattern<warp::LookupOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::LookupOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LLVM::GlobalOp table = findOrCreateTable(op, rewriter);
    Value start = LLVM::AddressOfOp::create(rewriter, op.getLoc(), table);
    Value place = LLVM::GEPOp::create(rewriter, op.getLoc(), start.getType(), op.getType(), start,
                                      ArrayRef<LLVM::GEPArg>{adaptor.getIndex()});
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), place, alignmentOf(op.getType()),
                                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                                              /*isInvariant=*/true);
    return success();
  }

private:
  static LLVM::GlobalOp findOrCreateTable(warp::LookupOp op, OpBuilder &builder) {
    auto module = op->getParentOfType<gpu::GPUModuleOp>();
    Type type = LLVM::LLVMArrayType::get(op.getType(), op.getTable().getNumElements());
    int64_t number = 0;
    for (auto known : module.getOps<LLVM::GlobalOp>()) {
      if (known.getValueOrNull() == op.getTable() && known.getGlobalType() == type)
        return known;
      ++number;
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    return LLVM::GlobalOp::create(builder, op.getLoc(), type, /*isConstant=*/true,
                                  LLVM::Linkage::Internal, ("table_" + Twine(number)).str(),
                                  op.getTable(), /*alignment=*/16,
                                  unsigned(NVVM::NVVMMemorySpace::Global));
  }
};

/// Past the first-level cache: what is copied into shared memory is not read there again.
struct CopyAsync : ConvertOpToLLVMPattern<warp::CopyAsyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::CopyAsyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value from = createGlobalPointer(rewriter, op.getLoc(), adaptor.getBase(), adaptor.getOffset());
    Value to = createSharedPointer(rewriter, op.getLoc(), adaptor.getAddress());
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncOp>(
        op, to, from, /*size=*/16, NVVM::LoadCacheModifierKind::CG, adaptor.getBytes());
    return success();
  }
};

struct CommitCopies : ConvertOpToLLVMPattern<warp::CommitCopiesOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::CommitCopiesOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct WaitCopies : ConvertOpToLLVMPattern<warp::WaitCopiesOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::WaitCopiesOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

} // namespace

void polyattn::populateMemoryPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<Lookup, LoadShared, StoreShared, LoadGlobal, StoreGlobal, CopyAsync, CommitCopies,
               WaitCopies>(converter);
}

//===- Memory.cpp - loads, stores and copies ------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace polyattn;

/// The shared memory's array, which the pass has put into the module.
static LLVM::GlobalOp findSharedMemory(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto kernels = parent->getParentOfType<gpu::GPUModuleOp>();
  auto globals = kernels.getBody()->getOps<LLVM::GlobalOp>();
  return *llvm::find_if(
      globals, [](LLVM::GlobalOp global) { return global.getAddrSpace() == kSharedSpace; });
}

Value polyattn::createSharedPointer(OpBuilder &builder, Location location, Value address) {
  Type type = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base =
      LLVM::AddressOfOp::create(builder, location, type, findSharedMemory(builder).getSymName());
  return LLVM::GEPOp::create(builder, location, type, builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{address});
}

static Value createGlobalPointer(OpBuilder &builder, Location location, Value base, Value offset) {
  return LLVM::GEPOp::create(builder, location, base.getType(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

unsigned polyattn::alignmentOf(Type type) {
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

/// A load of memory that no program writes is invariant, for which there is an instruction of its
/// own (ld.global.nc).
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

/// A table is an array in global memory that nobody writes: lanes look up different elements, which
/// constant memory would serve one after the other.
struct Lookup : ConvertOpToLLVMPattern<warp::LookupOp> {
  Lookup(const LLVMTypeConverter &converter, const Tables &tables)
      : ConvertOpToLLVMPattern(converter), tables(tables) {}
  LogicalResult matchAndRewrite(warp::LookupOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = LLVM::LLVMPointerType::get(op.getContext(), kGlobalSpace);
    Value base =
        LLVM::AddressOfOp::create(rewriter, op.getLoc(), type, tables.find(op.getTable())->second);
    Value pointer = LLVM::GEPOp::create(rewriter, op.getLoc(), type, op.getType(), base,
                                        ArrayRef<LLVM::GEPArg>{adaptor.getIndex()});
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), pointer, alignmentOf(op.getType()),
                                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                                              /*isInvariant=*/true);
    return success();
  }
  const Tables &tables;
};

/// Past the first-level cache: what is copied into shared memory is not read there again. Single
/// elements go through it, as the instruction has no other form for them.
struct CopyAsync : ConvertOpToLLVMPattern<warp::CopyAsyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::CopyAsyncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value from = createGlobalPointer(rewriter, op.getLoc(), adaptor.getBase(), adaptor.getOffset());
    Value to = createSharedPointer(rewriter, op.getLoc(), adaptor.getAddress());
    auto through =
        op.getElement() ? NVVM::LoadCacheModifierKind::CA : NVVM::LoadCacheModifierKind::CG;
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncOp>(op, to, from, op.getSize(), through,
                                                 adaptor.getBytes());
    return success();
  }
};

using CommitCopies = OneToOneConvertToLLVMPattern<warp::CommitCopiesOp, NVVM::CpAsyncCommitGroupOp>;

struct WaitCopies : ConvertOpToLLVMPattern<warp::WaitCopiesOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::WaitCopiesOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

} // namespace

void polyattn::populateMemoryPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns,
                                      const Tables &tables) {
  patterns.add<Lookup>(converter, tables);
  patterns
      .add<LoadShared, StoreShared, LoadGlobal, StoreGlobal, CopyAsync, CommitCopies, WaitCopies>(
          converter);
}

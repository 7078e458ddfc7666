//===- ThreadIds.cpp - where a thread is, and meetings of threads ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace polyattn;
using LLVM::ConstantRangeAttr;

/// Numbers below `limit`.
static ConstantRangeAttr below(Operation *op, int64_t limit) {
  return ConstantRangeAttr::get(op->getContext(), 32, 0, limit);
}

static int64_t threadsOf(Operation *op) {
  auto range = op->getParentOfType<LLVM::LLVMFuncOp>()->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  return range[0];
}

namespace {

struct ThreadId : ConvertOpToLLVMPattern<warp::ThreadIdOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::ThreadIdOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::ThreadIdXOp>(op, rewriter.getI32Type(),
                                                   below(op, threadsOf(op)));
    return success();
  }
};

/// `tid % 32` and not the register %laneid: CTAs are one-dimensional, so both are the same, and
/// arithmetic on the thread's number can be simplified together with other such arithmetic.
struct LaneId : ConvertOpToLLVMPattern<warp::LaneIdOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::LaneIdOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value thread = NVVM::ThreadIdXOp::create(rewriter, op.getLoc(), rewriter.getI32Type(),
                                             below(op, threadsOf(op)));
    rewriter.replaceOpWithNewOp<LLVM::AndOp>(op, thread, createI32(rewriter, op.getLoc(), 31));
    return success();
  }
};

/// The broadcast of lane 0's number tells ptxas that it is the same in all lanes.
struct WarpId : ConvertOpToLLVMPattern<warp::WarpIdOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::WarpIdOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location location = op.getLoc();
    Type i32 = rewriter.getI32Type();
    Value thread = NVVM::ThreadIdXOp::create(rewriter, location, i32, below(op, threadsOf(op)));
    Value warp = LLVM::LShrOp::create(rewriter, location, thread, createI32(rewriter, location, 5));
    rewriter.replaceOpWithNewOp<NVVM::ShflOp>(
        op, i32, createI32(rewriter, location, kWholeWarp), warp, createI32(rewriter, location, 0),
        createI32(rewriter, location, 31), NVVM::ShflKind::idx, UnitAttr());
    return success();
  }
};

struct ProgramId : ConvertOpToLLVMPattern<warp::ProgramIdOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::ProgramIdOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // A grid has at most 2^31 - 1 CTAs in its first dimension.
    Value number = NVVM::BlockIdXOp::create(rewriter, op.getLoc(), rewriter.getI32Type(),
                                            below(op, (int64_t(1) << 31) - 1));
    if (int64_t cluster = clusterSizeOf(op); cluster > 1)
      number =
          LLVM::LShrOp::create(rewriter, op.getLoc(), number,
                               createI32(rewriter, op.getLoc(), int32_t(llvm::Log2_64(cluster))));
    rewriter.replaceOp(op, number);
    return success();
  }
};

using Barrier = OneToOneConvertToLLVMPattern<warp::BarrierOp, NVVM::Barrier0Op>;

struct Sync : ConvertOpToLLVMPattern<warp::SyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::SyncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::SyncWarpOp>(op, createI32(rewriter, op.getLoc(), kWholeWarp));
    return success();
  }
};

} // namespace

void polyattn::populateThreadIdPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ThreadId, LaneId, WarpId, ProgramId, Barrier, Sync>(converter);
}

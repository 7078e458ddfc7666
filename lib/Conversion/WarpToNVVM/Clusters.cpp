//===- Clusters.cpp - CTAs that read each other's shared memory -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace polyattn;

namespace {

struct ClusterRank : ConvertOpToLLVMPattern<warp::ClusterRankOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::ClusterRankOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto range = LLVM::ConstantRangeAttr::get(op.getContext(), 32, 0, clusterSizeOf(op));
    rewriter.replaceOpWithNewOp<NVVM::ClusterId>(op, rewriter.getI32Type(), range);
    return success();
  }
};

/// An arrival without a qualifier releases and a wait acquires what was written.
struct ClusterBarrier : ConvertOpToLLVMPattern<warp::ClusterBarrierOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::ClusterBarrierOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    UnitAttr aligned = rewriter.getUnitAttr();
    NVVM::ClusterArriveOp::create(rewriter, op.getLoc(), aligned);
    rewriter.replaceOpWithNewOp<NVVM::ClusterWaitOp>(op, aligned);
    return success();
  }
};

struct LoadCluster : ConvertOpToLLVMPattern<warp::LoadClusterOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(warp::LoadClusterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    constexpr auto space = unsigned(NVVM::NVVMMemorySpace::SharedCluster);
    Value own = createSharedPointer(rewriter, op.getLoc(), adaptor.getAddress());
    Value pointer = NVVM::MapaOp::create(rewriter, op.getLoc(),
                                         LLVM::LLVMPointerType::get(op.getContext(), space), own,
                                         adaptor.getRank());
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), pointer, alignmentOf(op.getType()));
    return success();
  }
};

} // namespace

int64_t polyattn::clusterSizeOf(Operation *op) {
  auto sizes = op->getParentOfType<LLVM::LLVMFuncOp>()->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getClusterDimAttrName());
  return sizes ? sizes[0] : 1;
}

void polyattn::populateClusterPatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ClusterRank, ClusterBarrier, LoadCluster>(converter);
}

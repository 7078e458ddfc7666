//===- Pass.cpp - --tile-to-warp ------------------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;

namespace {
struct TileToWarpPass : PassWrapper<TileToWarpPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToWarpPass)

  TileToWarpPass() = default;
  TileToWarpPass(const TileToWarpOptions &options) {
    warps = options.warps;
    sharedBytes = options.sharedBytes;
  }
  TileToWarpPass(const TileToWarpPass &other) : PassWrapper(other) {
    warps = other.warps;
    sharedBytes = other.sharedBytes;
  }

  StringRef getArgument() const final { return "tile-to-warp"; }
  StringRef getDescription() const final {
    return "Turn block programs into kernels of a GPU, one CTA for each program";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<warp::WarpDialect, vector::VectorDialect>();
  }

  void runOnOperation() final {
    if (warps < 1 || warps > 16 || !llvm::isPowerOf2_64(warps) || sharedBytes < 0) {
      getOperation().emitError("warps must be a power of two from 1 to 16, and shared-bytes not "
                               "negative; got ")
          << int64_t(warps) << " and " << int64_t(sharedBytes);
      return signalPassFailure();
    }
    TileToWarpOptions options{warps, sharedBytes};
    OpBuilder builder(getOperation().getBodyRegion());
    auto kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), builder.getUnitAttr());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (failed(KernelLowering(kernel, options).run(kernels)))
        return signalPassFailure();
      kernel.erase();
    }
  }

  Option<int64_t> warps{*this, "warps", llvm::cl::desc("Warps of a CTA, a power of two"),
                        llvm::cl::init(4)};
  Option<int64_t> sharedBytes{*this, "shared-bytes",
                              llvm::cl::desc("Shared memory that a CTA may use, in bytes"),
                              llvm::cl::init(163 * 1024)};
};
} // namespace

std::unique_ptr<Pass> polyattn::createTileToWarpPass(const TileToWarpOptions &options) {
  return std::make_unique<TileToWarpPass>(options);
}

void polyattn::registerTileToWarpPasses() { PassRegistration<TileToWarpPass>(); }

//===- PolyAttnToTile.cpp - attentions become tile kernels ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "polyattn/Schedule/Invariant.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTPOLYATTNTOTILE
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

namespace {

struct ConvertPolyAttnToTile : polyattn::impl::ConvertPolyAttnToTileBase<ConvertPolyAttnToTile> {
  using ConvertPolyAttnToTileBase::ConvertPolyAttnToTileBase;

  void runOnOperation() override {
    if (subsegments < 1) {
      getOperation().emitError("subsegments must be at least 1, got ") << int64_t(subsegments);
      return signalPassFailure();
    }
    if (fewestBatches < 1 || fewestBatches > KernelBuilder::kBatchesPerProgram) {
      getOperation().emitError("fewest-batches must be from 1 to ")
          << KernelBuilder::kBatchesPerProgram << ", got " << int64_t(fewestBatches);
      return signalPassFailure();
    }
    for (AttentionOp attention : llvm::make_early_inc_range(getOperation().getOps<AttentionOp>())) {
      if (!hasKernels(attention)) {
        attention.emitError("kernels must be formed first (--polyattn-form-kernels)");
        return signalPassFailure();
      }
      ConvertPolyAttnToTileOptions options;
      bool invariant = isInvariant(getOperation());
      options.cutHeads = cutHeads && !invariant;
      options.cutPositions = cutPositions && !invariant;
      options.subsegments = subsegments;
      options.clusterSize = clusterSize;
      options.skipIdleState = skipIdleState;
      options.fewestBatches = fewestBatches;
      options.fewTokens = fewTokens;
      options.sharedBytes = sharedBytes;
      if (failed(KernelBuilder(attention, options).build()))
        return signalPassFailure();
    }
    for (FeatureMapOp map : llvm::make_early_inc_range(getOperation().getOps<FeatureMapOp>()))
      map.erase();
  }
};

} // namespace

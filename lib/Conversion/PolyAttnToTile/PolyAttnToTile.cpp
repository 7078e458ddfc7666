//===- PolyAttnToTile.cpp - attentions become tile kernels ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include "MainKernel.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_CONVERTPOLYATTNTOTILE
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;

/// Lowers one attention: the tile kernels of each kernel op, and the entry that says how they are
/// launched.
static LogicalResult lower(AttentionOp attention, bool skipsIdleState) {
  if (!hasKernels(attention))
    return attention.emitError("kernels must be formed first (--polyattn-form-kernels)");
  FailureOr<std::vector<KernelInfo>> kernels = KernelInfo::allOf(attention);
  if (failed(kernels))
    return failure();
  TileBuilder b(attention.getLoc(), attention);
  if (std::optional<ProductPrecision> precision = askedPrecision(attention.getBody().front()))
    b.setPrecision(*precision == ProductPrecision::F32 ? tile::Precision::F32
                                                       : tile::Precision::BF16);
  for (const KernelInfo &kernel : *kernels)
    buildKernels({b, kernel, skipsIdleState});
  SumsOfKernels(attention, *kernels).build(b);
  writeEntry(attention, b, *kernels, skipsIdleState);
  attention.erase();
  return success();
}

namespace {

struct ConvertPolyAttnToTile : polyattn::impl::ConvertPolyAttnToTileBase<ConvertPolyAttnToTile> {
  using ConvertPolyAttnToTileBase::ConvertPolyAttnToTileBase;

  void runOnOperation() override {
    for (AttentionOp attention : llvm::make_early_inc_range(getOperation().getOps<AttentionOp>()))
      if (failed(lower(attention, skipIdleState)))
        return signalPassFailure();
    for (FeatureMapOp map : llvm::make_early_inc_range(getOperation().getOps<FeatureMapOp>()))
      map.erase();
  }
};

} // namespace

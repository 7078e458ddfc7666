//===- SetPrecision.cpp - in what a target multiplies ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Analysis/TileValues.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_SETPRECISION
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using tile::Precision;

/// Whether a product of matrices says that its operands are not rounded.
static bool keepsOperands(tile::KernelOp kernel) {
  auto keeps = [](auto product) {
    return isMatrixProduct(product) && product.getPrecision() == Precision::F32;
  };
  bool found = false;
  kernel.walk([&](tile::DotOp dot) { found |= keeps(dot); });
  kernel.walk([&](tile::AccumulateOp update) { found |= keeps(update); });
  return found;
}

/// In what tensor cores multiply two matrices of a kernel: as exactly as its sequences are stored,
/// or as one of its products asks.
static Precision precisionOfMatrices(tile::KernelOp kernel) {
  bool f32 = keepsOperands(kernel), f16 = false;
  for (unsigned i = 0; i < kernel.getNumInputs(); ++i) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    // Sequences have heads in this dimension, states [B, H, D, dv] their features.
    if (type.getRank() != 4 || !type.isDynamicDim(2))
      continue;
    f32 |= type.getElementType().isF32();
    f16 |= type.getElementType().isF16();
  }
  if (f32)
    return Precision::SplitTF32;
  return f16 ? Precision::TF32 : Precision::BF16;
}

namespace {
struct SetPrecisionPass : polyattn::impl::SetPrecisionBase<SetPrecisionPass> {
  using SetPrecisionBase::SetPrecisionBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      Precision matrices = tensorCores ? precisionOfMatrices(kernel) : Precision::F32;
      Precision vectors = matrices == Precision::BF16 ? Precision::SplitBF16 : Precision::F32;
      auto set = [&](auto product) {
        // f64 is multiplied in f64 anywhere.
        Precision own = product.multipliesIn();
        bool isMatrix = isMatrixProduct(product);
        if (own != Precision::F64)
          own = isMatrix ? matrices : vectors;
        // Tensor cores have no f32, but what is as exact.
        bool isGiven =
            product.getPrecision() && (*product.getPrecision() != Precision::F32 || !isMatrix);
        if (!isGiven)
          product.setPrecision(own);
      };
      kernel.walk([&](tile::DotOp dot) { set(dot); });
      kernel.walk([&](tile::AccumulateOp update) { set(update); });
    }
  }
};
} // namespace

//===- SetPrecision.cpp - in what a target multiplies ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/EntryOf.h"
#include "lib/TileAnalysis/TileValues.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_SETPRECISION
#include "lib/TileTransforms/Passes.h.inc"
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

/// The number of a kernel's tensors that are the caller's. The others are workspaces, which only
/// the entry tells from results.
static int64_t countTensors(tile::KernelOp kernel) {
  auto entry = tile::entryOf(kernel->getParentOfType<ModuleOp>(), kernel.getSymName());
  return entry ? int64_t(entry.getTensors()) : kernel.getBody().getNumArguments();
}

namespace {
/// The element types of sequences.
struct SequenceTypes {
  bool f32 = false, f16 = false, bf16 = false;

  /// Of a kernel's tensors from `begin` to `end`.
  static SequenceTypes of(tile::KernelOp kernel, int64_t begin, int64_t end) {
    SequenceTypes types;
    for (int64_t i = begin; i < end; ++i) {
      auto type = cast<MemRefType>(kernel.getTensor(i).getType());
      // Sequences have heads in this dimension, states [B, H, D, dv] their features.
      if (type.getRank() != 4 || !type.isDynamicDim(2))
        continue;
      types.f32 |= type.getElementType().isF32();
      types.f16 |= type.getElementType().isF16();
      types.bf16 |= type.getElementType().isBF16();
    }
    return types;
  }
  bool are16Bits() const { return (f16 || bf16) && !f32; }
};
} // namespace

/// In what tensor cores multiply two matrices of a kernel: as exactly as its sequences are stored,
/// or as one of its products asks. The sum of two bf16 has 16 bits of mantissa, and a tensor of 16
/// bits has at most 11. Its products take half of the time of two tf32.
static Precision precisionOfMatrices(tile::KernelOp kernel) {
  int64_t inputs = kernel.getNumInputs();
  SequenceTypes read = SequenceTypes::of(kernel, 0, inputs);
  SequenceTypes written = SequenceTypes::of(kernel, inputs, countTensors(kernel));
  if (!read.f32 && !keepsOperands(kernel))
    return read.f16 ? Precision::TF32 : Precision::BF16;
  return read.are16Bits() || written.are16Bits() ? Precision::SplitBF16 : Precision::SplitTF32;
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

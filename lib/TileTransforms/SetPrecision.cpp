//===- SetPrecision.cpp - in what a target multiplies ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/EntryOf.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "polyattn/TileTransforms/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_SETPRECISION
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using tile::Precision;

/// Whether a product of matrices says that it has this precision.
static bool hasProductIn(tile::KernelOp kernel, Precision precision) {
  auto says = [&](auto product) {
    return isMatrixProduct(product) && product.getPrecision() == precision;
  };
  bool found = false;
  kernel.walk([&](tile::DotOp dot) { found |= says(dot); });
  kernel.walk([&](tile::AccumulateOp update) { found |= says(update); });
  return found;
}

/// Whether a product of matrices says that its operands are not rounded.
static bool keepsOperands(tile::KernelOp kernel) { return hasProductIn(kernel, Precision::F32); }

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
static Precision precisionOfTensorCores(tile::KernelOp kernel) {
  int64_t inputs = kernel.getNumInputs();
  SequenceTypes read = SequenceTypes::of(kernel, 0, inputs);
  SequenceTypes written = SequenceTypes::of(kernel, inputs, countTensors(kernel));
  if (hasProductIn(kernel, Precision::BF16) && !keepsOperands(kernel))
    return Precision::BF16;
  if (!read.f32 && !keepsOperands(kernel))
    return read.f16 ? Precision::TF32 : Precision::BF16;
  return read.are16Bits() || written.are16Bits() ? Precision::SplitBF16 : Precision::SplitTF32;
}

/// In what a processor multiplies two matrices of a kernel where it has products of bf16 pairs.
static Precision precisionOfPairs(tile::KernelOp kernel) {
  SequenceTypes read = SequenceTypes::of(kernel, 0, kernel.getNumInputs());
  bool isBF16 = (read.bf16 && !read.f16 && !read.f32) || hasProductIn(kernel, Precision::BF16);
  return isBF16 && !keepsOperands(kernel) ? Precision::BF16 : Precision::F32;
}

/// Whether a product of matrices takes less time in pairs than its operands take to be rounded.
static bool gainsFromPairs(int64_t rows, int64_t terms, int64_t columns) {
  constexpr int64_t fewestTerms = 16, fewestRows = 8;
  return terms % 2 == 0 && terms >= fewestTerms && rows >= fewestRows && columns >= fewestRows;
}

static bool gainsFromPairs(tile::DotOp dot) {
  tile::TileType result = dot.getResult().getType();
  return gainsFromPairs(result.getRows(), dot.getRhs().getType().getRows(), result.getColumns());
}
static bool gainsFromPairs(tile::AccumulateOp update) {
  tile::TileType lhs = update.getLhs().getType();
  return gainsFromPairs(lhs.getRows(), lhs.getColumns(), update.getRhs().getType().getColumns());
}

/// Lets exponentials of matrices have the relative error of one exp2 instruction, 1e-5: rounding
/// factors to bf16 changes them by up to 4e-3. Exponentials of vectors may be decays, which many
/// positions multiply, and stay exact.
static void approximateExponentials(tile::KernelOp kernel) {
  kernel.walk([](tile::MapOp map) {
    tile::TileType type = map.getResult().getType();
    if (type.getRows() > 1 && type.getColumns() > 1)
      map.walk(
          [](math::ExpOp exp) { exp.setFastmath(exp.getFastmath() | arith::FastMathFlags::afn); });
  });
}

namespace {
struct SetPrecisionPass : polyattn::impl::SetPrecisionBase<SetPrecisionPass> {
  using SetPrecisionBase::SetPrecisionBase;

  /// Whether a target has the precision that a product says. Tensor cores have no f32, but what is
  /// as exact. bf16 may be computed as exactly as f32.
  bool isKept(std::optional<Precision> given, bool isMatrix) {
    if (given == Precision::F32)
      return !isMatrix || !tensorCores;
    return given && (*given != Precision::BF16 || tensorCores);
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      Precision matrices = tensorCores ? precisionOfTensorCores(kernel)
                           : bf16Pairs ? precisionOfPairs(kernel)
                                       : Precision::F32;
      bool splits = tensorCores && matrices == Precision::BF16;
      Precision vectors = splits ? Precision::SplitBF16 : Precision::F32;
      auto set = [&](auto product) {
        // f64 is multiplied in f64 anywhere.
        Precision own = product.multipliesIn();
        bool isMatrix = isMatrixProduct(product);
        if (own != Precision::F64)
          own = isMatrix ? matrices : vectors;
        if (!tensorCores && own == Precision::BF16 && !gainsFromPairs(product))
          own = Precision::F32;
        if (!isKept(product.getPrecision(), isMatrix))
          product.setPrecision(own);
      };
      kernel.walk([&](tile::DotOp dot) { set(dot); });
      kernel.walk([&](tile::AccumulateOp update) { set(update); });
      if (tensorCores && matrices == Precision::BF16)
        approximateExponentials(kernel);
    }
  }
};
} // namespace

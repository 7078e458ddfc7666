//===- Precision.cpp - in what a kernel multiplies ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision.h"
#include "lib/TileAnalysis/TileValues.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {
struct Product {
  Operation *op;
  Precision precision;
  bool ofMatrices;
};
} // namespace

static SmallVector<Product> productsOf(KernelOp kernel) {
  SmallVector<Product> products;
  kernel.walk([&](Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op))
      products.push_back({op, dot.multipliesIn(), isMatrixProduct(dot)});
    if (auto update = dyn_cast<AccumulateOp>(op))
      products.push_back({op, update.multipliesIn(), isMatrixProduct(update)});
  });
  return products;
}

/// Memory holds bf16 where products are multiplied in it (ResidencyAnalysis); values are never of
/// 16 bits.
static LogicalResult checkElements(KernelOp kernel) {
  WalkResult checked = kernel.walk([](Operation *op) -> WalkResult {
    for (Value result : op->getResults())
      if (TileType type = tileType(result);
          type && type.getElementType().getIntOrFloatBitWidth() == 16)
        return op->emitError("this lowering takes tiles of f32 or f64, not ")
               << type.getElementType();
    return success();
  });
  return failure(checked.wasInterrupted());
}

LogicalResult tile_to_warp::checkPrecision(KernelOp kernel) {
  if (failed(checkElements(kernel)))
    return failure();
  const Product *first = nullptr;
  SmallVector<Product> products = productsOf(kernel);
  for (const Product &product : products) {
    Precision precision = product.precision;
    if (precision == Precision::F64 || precision == Precision::F16)
      return product.op->emitError("this lowering has no products in ")
             << stringifyPrecision(precision);
    // A vector is multiplied in f32, or as a sum of two bf16: no less exactly than asked.
    if (!product.ofMatrices)
      continue;
    if (precision == Precision::F32)
      return product.op->emitError("tensor cores multiply matrices in bf16, tf32, split_bf16 or "
                                   "split_tf32, not in ")
             << stringifyPrecision(precision)
             << " (--tile-set-precision=tensor-cores chooses one of these)";
    if (!first)
      first = &product;
    if (precision == first->precision)
      continue;
    InFlightDiagnostic error = product.op->emitError("multiplies in ");
    error << stringifyPrecision(precision) << " where another product of its kernel does in "
          << stringifyPrecision(first->precision);
    error.attachNote(first->op->getLoc()) << "the other product";
    return error;
  }
  return success();
}

std::pair<warp::OperandKind, bool> tile_to_warp::operandsOf(KernelOp kernel) {
  SmallVector<Product> products = productsOf(kernel);
  const auto *matrices = llvm::find_if(products, [](const Product &p) { return p.ofMatrices; });
  if (matrices != products.end()) {
    Precision precision = matrices->precision;
    bool isSplit = precision == Precision::SplitBF16 || precision == Precision::SplitTF32;
    bool bf16 = precision == Precision::BF16 || precision == Precision::SplitBF16;
    return {bf16 ? warp::OperandKind::BF16 : warp::OperandKind::TF32, isSplit};
  }
  // Without products of matrices the tensor cores serve sums and products of vectors, in two bf16
  // unless one of these wants f32.
  bool f32 = llvm::any_of(products, [](const Product &p) { return p.precision == Precision::F32; });
  return {f32 ? warp::OperandKind::TF32 : warp::OperandKind::BF16, false};
}

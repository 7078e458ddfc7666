//===- Dot.cpp - products on the tensor cores -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

KernelLowering::Product KernelLowering::productOf(Value lhs, Value rhs, Value bound,
                                                  bool lhsTransposed) {
  Product product;
  product.lhs = lhs;
  product.rhs = rhs;
  product.bound = bound;
  product.lhsTransposed = lhsTransposed;
  TileType type = tileType(lhs);
  product.terms = lhsTransposed ? type.getRows() : type.getColumns();
  // Kept tiles have zeros in their padding; windows of them have what comes next.
  auto isPadded = [&](Value value) { return computed.contains(value); };
  if (product.terms % 16 && product.terms > 1 && !bound && !isPadded(lhs) && !isPadded(rhs))
    product.bound = e.i32(product.terms);
  // Rows past the end of a tensor read as zero.
  auto load = rhs.getDefiningOp<LoadOp>();
  product.rhsIsZeroPastBound = bound && load && load.getValid() && !load.getTransposed() &&
                               load.getRowDim() != -1 && e.toI32(scalar(load.getValid())) == bound;
  return product;
}

/// One 16 x 8 piece: D += A B over the terms of a fragment.
static void multiplyPiece(Emitter &e, warp::OperandKind kind, const Values &a, const Values &b,
                          MutableArrayRef<Value> sums) {
  auto mma = warp::MmaSyncOp::create(e, e.getF32Type(), e.getF32Type(), e.getF32Type(),
                                     e.getF32Type(), kind, a[0], a[1], a[2], a[3], b[0], b[1],
                                     sums[0], sums[1], sums[2], sums[3]);
  llvm::copy(mma.getResults(), sums.begin());
}

Values KernelLowering::multiply(const Product &product, const WarpTile &warpTile,
                                Values accumulators) {
  // Accumulators by piece, as the instructions want them, not by row.
  int64_t columns = 2 * warpTile.columnTiles;
  auto indexOf = [&](int64_t i, int64_t j, int64_t r) {
    return (2 * i + r / 2) * columns + 2 * j + r % 2;
  };
  warp::OperandKind kind = placement.operandKind();
  int64_t step = kind == warp::OperandKind::TF32 ? 8 : 16;
  auto masked = [&](bool isLhs, Value term, int64_t first, int64_t count) {
    Fragments fragments = loadFragments(product, isLhs, warpTile, term, first, count);
    if (product.bound && (isLhs || !product.rhsIsZeroPastBound))
      maskTerms(fragments, isLhs, term, product.bound);
    return fragments;
  };
  auto terms = [&](Value term, ValueRange carried) {
    Fragments lhs = masked(/*isLhs=*/true, term, 0, warpTile.rowTiles);
    Values sums(carried);
    // Two columns of pieces at a time: one ldmatrix brings both, and few registers wait.
    for (int64_t first = 0; first < warpTile.columnTiles; first += 2) {
      int64_t count = std::min<int64_t>(2, warpTile.columnTiles - first);
      Fragments rhs = masked(/*isLhs=*/false, term, first, count);
      for (int64_t i = 0; i < warpTile.rowTiles; ++i)
        for (int64_t j = first; j < first + count; ++j) {
          Values piece;
          for (int64_t r = 0; r < 4; ++r)
            piece.push_back(sums[indexOf(i, j, r)]);
          // Small parts first: what they add up to is not lost beside the large one.
          if (placement.splitsOperands()) {
            multiplyPiece(e, kind, lhs.low[i], rhs.high[j - first], piece);
            multiplyPiece(e, kind, lhs.high[i], rhs.low[j - first], piece);
          }
          multiplyPiece(e, kind, lhs.high[i], rhs.high[j - first], piece);
          for (int64_t r = 0; r < 4; ++r)
            sums[indexOf(i, j, r)] = piece[r];
        }
    }
    return sums;
  };
  int64_t end = roundUp(product.terms, 16);
  if (end == step)
    return terms(e.i32(0), accumulators);
  auto loop = scf::ForOp::create(e, e.i32(0), e.i32(end), e.i32(step), accumulators);
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    // Else loop strength reduction gives each of the addresses a register of its own.
    Value term = warp::OpaqueOp::create(e, loop.getInductionVar());
    scf::YieldOp::create(e, terms(term, loop.getRegionIterArgs()));
  }
  return Values(loop.getResults());
}

// S <- g S + phi_k V.
void KernelLowering::lowerAccumulate(AccumulateOp op) {
  if (!isMatrixProduct(op))
    return lowerVectorAccumulate(op);
  Storage storage = storages[op.getBuffer()];
  int64_t rows = tileType(op.getLhs()).getRows(), columns = tileType(op.getRhs()).getColumns();
  Value row = e.toI32(scalar(op.getRow()));
  Value bound = op.getBound() ? e.toI32(scalar(op.getBound())) : Value();
  Product product = productOf(op.getLhs(), op.getRhs(), bound, /*lhsTransposed=*/false);
  beginPhase();
  forAccumulators(rows, columns, 1, /*whole=*/false, [&](const Grid &grid, Value condition) {
    Values sums = loadElements(storage, shifted(grid, row, {}));
    if (op.getFactor()) {
      Value factor = evaluateAt(op.getFactor(), {}, {});
      for (Value &sum : sums)
        sum = arith::MulFOp::create(e, sum, factor);
    }
    sums = multiply(product, *grid.warpTile, sums);
    recordWrite(storage, grid);
    storeRows(storage, grid, sums, row, rows % 16 ? rows : 0, condition);
  });
}

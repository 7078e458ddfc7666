//===- Dot.cpp - products -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

const MicroKernel &KernelLowering::microKernelOf(DotOp dot) {
  return *findMicroKernel(dot.multipliesIn(), dot.getLhs().getType(), dot.getLhsTransposed(),
                          dot.getRhs().getType(), e.machine);
}

Product KernelLowering::product(DotOp dot, bool columnAsRow) {
  Product result;
  result.kernel = &microKernelOf(dot);
  result.lhs = storageOf(dot.getLhs());
  result.rhs = storageOf(dot.getRhs());
  result.lhsTransposed = dot.getLhsTransposed();
  result.lhsTriangle = dot.getLhsTriangle();
  result.depth = dot.getRhs().getType().getRows();
  if (dot.getBound())
    result.bound = e.max(e.min(scalar(dot.getBound()), result.depth), 0);
  // (A b)^T = b^T A^T, and A^T is what lies in memory.
  if (columnAsRow)
    std::swap(result.lhs, result.rhs);
  return result;
}

// Products that run over the same terms share one loop, and the rows of B where they can.
void KernelLowering::evaluateDots(ArrayRef<DotOp> dots, const RegisterTile &tile,
                                  Evaluated &known) {
  SmallVector<DotOp> left(dots);
  while (!left.empty()) {
    DotOp head = left.front();
    SmallVector<DotOp> group, rest;
    for (DotOp dot : left) {
      bool together = dot.getRhs().getType().getRows() == head.getRhs().getType().getRows() &&
                      dot.getBound() == head.getBound() &&
                      dot.getLhsTriangle() == head.getLhsTriangle() &&
                      &microKernelOf(dot) == &microKernelOf(head);
      (together ? group : rest).push_back(dot);
    }
    Vectors accumulators;
    SmallVector<Product> products;
    for (DotOp dot : group) {
      Type element = dot.getResult().getType().getElementType();
      Vectors start = dot.getAcc() ? evaluate(dot.getAcc(), tile, known)
                                   : Vectors(tile.size(), e.zero(element));
      accumulators.append(start);
      products.push_back(product(dot, tile.columnAsRow));
    }
    accumulators = multiply(products, tile, accumulators);
    for (auto [i, dot] : llvm::enumerate(group))
      known[dot.getResult()] = Vectors(accumulators.begin() + i * tile.size(),
                                       accumulators.begin() + (i + 1) * tile.size());
    left = rest;
  }
}

Vectors KernelLowering::multiply(ArrayRef<Product> products, const RegisterTile &tile,
                                 Vectors accumulators) {
  ProductLoop loop(e, products, tile);
  loop.fetch(beginStreams(loop.iterations()));
  return loop.run(std::move(accumulators));
}

//===----------------------------------------------------------------------===//
// Accumulate
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerAccumulate(AccumulateOp op) {
  TileType lhsType = op.getLhs().getType(), rhsType = op.getRhs().getType();
  int64_t rows = lhsType.getRows(), columns = rhsType.getColumns();
  TileMemory buffer = slice(storageOf(op.getBuffer()), scalar(op.getRow()), 0,
                            TileType::f32(op.getContext(), rows, columns));
  Product p;
  p.kernel =
      findMicroKernel(op.multipliesIn(), lhsType, /*lhsTransposed=*/false, rhsType, e.machine);
  p.rhs = storageOf(op.getRhs());
  p.depth = rhsType.getRows();
  if (op.getBound())
    p.bound = e.max(e.min(scalar(op.getBound()), p.depth), 0);
  Value factor;
  if (op.getFactor()) {
    factor = loadElement(storageOf(op.getFactor()), 0, 0);
  }
  if (columns == 1 && rows > 1) {
    if (factor)
      e.loop(0, rows, 1, [&](Offset row) {
        Value scaled = arith::MulFOp::create(e, loadElement(buffer, row, 0), factor);
        e.store(scaled, buffer.base, address(buffer, row, 0));
      });
    addColumnProduct(storageOf(op.getLhs()), p.rhs, p.depth, p.bound, Triangle::None, buffer, rows);
    return success();
  }
  if (factor)
    factor = e.broadcast(factor);
  bool partialLastVector = columns == 1; // A single element among others of a column.
  bool strips = fusion.isDeferred(op.getLhs());
  TileShape shape = p.kernel->chooseShape(e.machine, {}, p.depth,
                                          strips ? Fusion::kStripRows : rows, e.vectors(columns));
  shape.rowsOutside = fitsL1(rhsType);
  takeWindows(op, shape, rows, columns);
  auto update = [&](Offset firstRow, int64_t count) {
    forEachTile({count, columns}, shape, partialLastVector, [&](RegisterTile tile) {
      RegisterTile shifted = tile;
      shifted.row = e.add(firstRow, tile.row);
      beginFetch(shifted);
      TileType type = TileType::f32(op.getContext(), rows, columns);
      Vectors accumulators = loadTile(buffer, type, type, shifted);
      if (factor)
        for (Value &sum : accumulators)
          sum = arith::MulFOp::create(e, sum, factor);
      storeTile(buffer, shifted, multiply(p, tile, accumulators));
    });
  };
  if (!strips) {
    p.lhs = storageOf(op.getLhs());
    update(0, rows);
    return success();
  }
  // Produce a strip of rows and use it at once, while it is in L1.
  constexpr int64_t strip = Fusion::kStripRows;
  p.lhs = allocate(strip, lhsType.getColumns(), lhsType.getElementType());
  SmallVector<DotOp> dots = fusion.productsOf(op.getLhs());
  TileShape production = chooseShape(dots, strip, e.vectors(lhsType.getColumns()));
  TileExtent stripExtent{strip, lhsType.getColumns(), strip, extentOf(op.getLhs()).endColumn};
  e.loop(0, rows, strip, [&](Offset row) {
    forEachTile(stripExtent, production, /*partialLastVector=*/false, [&](RegisterTile tile) {
      RegisterTile source = tile;
      source.row = e.add(row, tile.row);
      storeTile(p.lhs, tile, evaluateTile(op.getLhs(), source));
    });
    update(row, strip);
  });
  scratch.free(p.lhs.offset.constant * (lhsType.getElementType().getIntOrFloatBitWidth() / 8));
  return success();
}

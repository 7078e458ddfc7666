//===- PartSums.cpp - sums of rows that several programs have parts of ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartSums.h"

using namespace mlir;
using namespace polyattn;

/// N of each attend and its Z beside it, of a part or of a query head.
void PartSums::store(TileBuilder &b, ArrayRef<Accumulators> accumulators,
                     const BlockSpan &span) const {
  const KernelFrame &frame = context.frame;
  SmallVector<Value> indices = {frame.sequence.batch, frame.sequence.rowOf(b, span.position),
                                frame.heads.query()};
  if (Value part = context.share->part())
    indices.insert(indices.begin(), part);
  int64_t columnDim = indices.size(), column = 0;
  auto store = [&](Value tile) {
    int64_t width = b.typeOf(tile).getColumns();
    SmallVector<Value> at = indices;
    at.push_back(b.index(column));
    tile::StoreOp::create(b, tile, frame.workspace(0), at, span.valid, /*row_dim=*/columnDim - 2,
                          /*col_dim=*/width == 1 ? -1 : columnDim);
    column += width;
  };
  for (const Accumulators &sum : accumulators) {
    store(sum.numerator);
    if (sum.denominator)
      store(sum.denominator);
  }
}

/// The sums of what all parts have stored for a block.
SmallVector<Accumulators> PartSums::add(TileBuilder &b, Value count, const BlockSpan &span,
                                        function_ref<SmallVector<Value>(Value)> indicesOf) const {
  SmallVector<Value> zeros;
  for (AttendOp attend : info.attends) {
    zeros.push_back(b.constant(context.block, attend.getValue().getType().getWidth(), 0));
    if (attend.getNormalizer().hasDenominator())
      zeros.push_back(b.constant(context.block, 1, 0));
  }
  auto totals = b.loop(b.index(0), count, b.index(1), zeros, [&](Value part, ValueRange in) {
    TileBuilder::Values out;
    SmallVector<Value> indices = indicesOf(part);
    int64_t columnDim = indices.size(), column = 0;
    for (Value sum : in) {
      int64_t width = b.typeOf(sum).getColumns();
      SmallVector<Value> at = indices;
      at.push_back(b.index(column));
      Value tile =
          tile::LoadOp::create(b, b.typeOf(sum), context.frame.workspace(0), at, span.valid,
                               /*row_dim=*/columnDim - 2, width == 1 ? -1 : columnDim,
                               /*transposed=*/false);
      out.push_back(b.add(sum, tile));
      column += width;
    }
    return out;
  });
  SmallVector<Accumulators> accumulators;
  size_t next = 0;
  for (AttendOp attend : info.attends) {
    Accumulators &sum = accumulators.emplace_back();
    sum.numerator = totals[next++];
    if (attend.getNormalizer().hasDenominator())
      sum.denominator = totals[next++];
  }
  return accumulators;
}

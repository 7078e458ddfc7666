//===- PartSums.cpp - sums of rows that several programs have parts of ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartSums.h"
#include "dialects/PolyAttn/FeatureParts.h"

using namespace mlir;
using namespace polyattn;

/// The program's own column, where all programs have `width` of them from `first` on.
Value PartSums::ownColumn(TileBuilder &b, int64_t first, int64_t width) const {
  return b.addIndex(b.index(first), b.mulIndex(context.frame.clusterRank, b.index(width)));
}

Value PartSums::isFirstProgram(TileBuilder &b) const {
  return b.isEqual(context.frame.clusterRank, b.index(0));
}

/// N of each attend and its Z beside it, of a part or of a query head.
void PartSums::store(TileBuilder &b, ArrayRef<Accumulators> accumulators,
                     const BlockSpan &span) const {
  const KernelFrame &frame = context.frame;
  SmallVector<Value> indices = {frame.sequence.batch, frame.sequence.rowOf(b, span.position),
                                frame.heads.query()};
  if (Value part = context.share->part())
    indices.insert(indices.begin(), part);
  int64_t columnDim = indices.size(), first = 0;
  auto store = [&](Value tile, Value column) {
    int64_t width = b.typeOf(tile).getColumns();
    SmallVector<Value> at = indices;
    at.push_back(column);
    tile::StoreOp::create(b, tile, frame.workspace(0), at, span.valid, /*row_dim=*/columnDim - 2,
                          /*col_dim=*/width == 1 ? -1 : columnDim);
  };
  int64_t shares = featurePartsOf(info.attention);
  for (auto [attend, sum] : llvm::zip(info.attends, accumulators)) {
    int64_t width = b.typeOf(sum.numerator).getColumns();
    if (hasOwnFeatures(AttendOp(attend).getValue())) {
      store(sum.numerator, ownColumn(b, first, width));
      width *= shares;
    } else if (shares > 1) {
      Value all = tile::ClusterSumOp::create(b, sum.numerator);
      b.branch(isFirstProgram(b), [&] { store(all, b.index(first)); });
    } else {
      store(sum.numerator, b.index(first));
    }
    first += width;
    if (sum.denominator)
      store(sum.denominator, b.index(first++));
  }
}

/// The sums of what all parts have stored for a block.
SmallVector<Accumulators> PartSums::add(TileBuilder &b, Value count, const BlockSpan &span,
                                        function_ref<SmallVector<Value>(Value)> indicesOf) const {
  int64_t shares = featurePartsOf(info.attention);
  SmallVector<Value> zeros;
  for (AttendOp attend : info.attends) {
    zeros.push_back(b.constant(context.block, attend.getValue().getType().getWidth(), 0));
    if (attend.getNormalizer().hasDenominator())
      zeros.push_back(b.constant(context.block, 1, 0));
  }
  auto totals = b.loop(b.index(0), count, b.index(1), zeros, [&](Value part, ValueRange in) {
    TileBuilder::Values out;
    SmallVector<Value> indices = indicesOf(part);
    int64_t columnDim = indices.size(), first = 0;
    auto add = [&](Value column, Value valid) {
      Value sum = in[out.size()];
      SmallVector<Value> at = indices;
      at.push_back(column);
      Value tile = tile::LoadOp::create(
          b, b.typeOf(sum), context.frame.workspace(0), at, valid, /*row_dim=*/columnDim - 2,
          b.typeOf(sum).getColumns() == 1 ? -1 : columnDim, /*transposed=*/false);
      out.push_back(b.add(sum, tile));
    };
    for (AttendOp attend : info.attends) {
      int64_t width = attend.getValue().getType().getWidth();
      if (hasOwnFeatures(attend.getValue())) {
        add(ownColumn(b, first, width), span.valid);
        width *= shares;
      } else if (shares > 1) { // what the first one adds is the sum of all
        add(b.index(first), b.select(isFirstProgram(b), span.valid, b.index(0)));
      } else {
        add(b.index(first), span.valid);
      }
      first += width;
      if (attend.getNormalizer().hasDenominator())
        add(b.index(first++), span.valid);
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

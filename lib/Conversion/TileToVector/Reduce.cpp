//===- Reduce.cpp - sums and maxima over rows and columns -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

Vectors KernelLowering::inputTile(Value value, const RegisterTile &tile) {
  if (fusion.isDeferred(value))
    return evaluateTile(value, tile);
  auto type = cast<TileType>(value.getType());
  return loadTile(storageOf(value), type, type, tile);
}

Value KernelLowering::combine(ReduceKind kind, Value a, Value b) {
  if (kind == ReduceKind::Add)
    return arith::AddFOp::create(e, a, b);
  return arith::MaximumFOp::create(e, a, b);
}

static Value neutral(Emitter &e, ReduceKind kind, Type element) {
  if (kind == ReduceKind::Add)
    return e.zero(element);
  APFloat lowest = APFloat::getInf(cast<FloatType>(element).getFloatSemantics(), true);
  return e.splat(FloatAttr::get(element, lowest));
}

void KernelLowering::reduceRows(ReduceOp reduce, const Storage &destination) {
  TileType type = reduce.getInput().getType();
  Offset end = type.getRows();
  if (reduce.getBound())
    end = e.max(e.min(scalar(reduce.getBound()), end), 0);
  Value start = neutral(e, reduce.getKind(), type.getElementType());
  TileShape shape{1, std::min<int64_t>(4, e.vectors(type.getColumns()))};
  forEachTile(1, type.getColumns(), shape, /*exact=*/false, [&](RegisterTile tile) {
    Vectors init(tile.vectors, start);
    Vectors sums = e.loop(0, end, 1, init, [&](Offset row, ValueRange carried) {
      RegisterTile at = tile;
      at.row = row;
      Vectors values = inputTile(reduce.getInput(), at), next;
      for (int64_t v = 0; v < tile.vectors; ++v) {
        if (reduce.getLower()) {
          Offset column = e.add(tile.column, v * e.width());
          Value kept = e.lanesBelow(e.add(e.sub(row, column), 1));
          values[v] = e.select(kept, values[v], start);
        }
        next.push_back(combine(reduce.getKind(), carried[v], values[v]));
      }
      return next;
    });
    storeTile(destination, tile, sums);
  });
}

void KernelLowering::reduceColumns(ReduceOp reduce, const Storage &destination) {
  TileType type = reduce.getInput().getType();
  // A column vector summed over its rows is one row of numbers.
  bool flipped = isColumnVector(type);
  int64_t rows = flipped ? 1 : type.getRows(),
          columns = flipped ? type.getRows() : type.getColumns();
  Offset limit = columns;
  if (reduce.getBound())
    limit = e.max(e.min(scalar(reduce.getBound()), limit), 0);
  Value start = neutral(e, reduce.getKind(), type.getElementType());
  auto kind = reduce.getKind() == ReduceKind::Add ? vector::CombiningKind::ADD
                                                  : vector::CombiningKind::MAXIMUMF;
  e.loop(0, rows, 1, [&](Offset row) {
    Offset end = reduce.getLower() && !flipped ? e.min(limit, e.add(row, 1)) : limit;
    // Vectors that lie within the row's end as they are, then the one that the end cuts.
    bool isMultiple = end.isStatic() && end.constant % e.width() == 0;
    Offset whole = isMultiple ? end : e.mul(e.div(end, e.width()), e.width());
    auto add = [&](Offset column, bool cut, Value sum) {
      RegisterTile at;
      at.row = row;
      at.column = column;
      at.flipped = flipped;
      Value value = inputTile(reduce.getInput(), at)[0];
      if (cut)
        value = e.select(e.lanesBelow(e.sub(end, column)), value, start);
      return Vectors{combine(reduce.getKind(), sum, value)};
    };
    Vectors sum =
        e.loop(0, whole, e.width(), ValueRange{start},
               [&](Offset column, ValueRange sum) { return add(column, /*cut=*/false, sum[0]); });
    // A column of a wider tile must not be read past its end.
    if (!isMultiple)
      sum = e.loop(whole, end, e.width(), sum, [&](Offset column, ValueRange sum) {
        return add(column, /*cut=*/true, sum[0]);
      });
    Value total = vector::ReductionOp::create(e, kind, sum[0], arith::FastMathFlags::reassoc);
    e.store(total, destination.base, address(destination, row, 0));
  });
}

LogicalResult KernelLowering::lowerReduce(ReduceOp reduce) {
  if (reduce.getResult().use_empty())
    return success();
  Storage destination = allocateFor(reduce.getResult());
  TileType type = reduce.getInput().getType();
  bool overRows = reduce.getAxis() == Axis::Rows;
  if (overRows && !isColumnVector(type))
    reduceRows(reduce, destination);
  else if (overRows || !isColumnVector(type))
    reduceColumns(reduce, destination);
  else // Each row of a column has one element.
    compute(reduce.getInput(), destination);
  return success();
}

void KernelLowering::lowerCumulativeSum(CumulativeSumOp sum) {
  if (sum.getResult().use_empty())
    return;
  Storage source = storageOf(sum.getInput()), destination = allocateFor(sum.getResult());
  TileType type = sum.getResult().getType();
  e.loop(0, type.getRows(), 1, [&](Offset row) {
    Value zero = e.constant(cast<TypedAttr>(e.getZeroAttr(type.getElementType())));
    e.loop(0, type.getColumns(), 1, ValueRange{zero}, [&](Offset column, ValueRange carried) {
      Value total = arith::AddFOp::create(e, carried[0], loadElement(source, row, column));
      e.store(total, destination.base, address(destination, row, column));
      return Vectors{total};
    });
  });
}

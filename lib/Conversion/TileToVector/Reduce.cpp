//===- Reduce.cpp - sums and maxima over rows and columns -*- C++ -*-===//
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

void KernelLowering::reduceRows(ReduceOp reduce, const TileMemory &destination) {
  TileType type = reduce.getInput().getType();
  Offset end = type.getRows();
  if (reduce.getBound())
    end = e.max(e.min(scalar(reduce.getBound()), end), 0);
  Value start = neutral(e, reduce.getKind(), type.getElementType());
  TileShape shape{1, std::min<int64_t>(4, e.vectors(type.getColumns()))};
  forEachTile(extentOf(reduce.getResult()), shape, /*partialLastVector=*/false,
              [&](RegisterTile tile) {
                Vectors init(tile.vectors, start);
                Vectors sums = e.loop(0, end, 1, init, [&](Offset row, ValueRange carried) {
                  RegisterTile at = tile;
                  at.row = row;
                  Vectors values = inputTile(reduce.getInput(), at), next;
                  for (int64_t v = 0; v < tile.vectors; ++v) {
                    if (reduce.getTriangle() != Triangle::None)
                      values[v] = inTriangle(reduce.getTriangle(), row,
                                             e.add(tile.column, v * e.width()), values[v], start);
                    next.push_back(combine(reduce.getKind(), carried[v], values[v]));
                  }
                  return next;
                });
                storeTile(destination, tile, sums);
              });
}

/// The lanes of each vector combined: a number for one vector, four lanes for four.
Value KernelLowering::combineLanes(ReduceKind kind, const Vectors &rows) {
  if (rows.size() == 1) {
    auto sum =
        kind == ReduceKind::Add ? vector::CombiningKind::ADD : vector::CombiningKind::MAXIMUMF;
    return vector::ReductionOp::create(e, sum, rows[0], arith::FastMathFlags::reassoc);
  }
  // Columns of 4 x 4 blocks, half of them at a time, take half of the shuffles of four rows alone.
  auto perBlock = [&](Value a, Value b, ArrayRef<int64_t> lanes) {
    SmallVector<int64_t> mask;
    for (int64_t block = 0; block < e.width(); block += 4)
      for (int64_t lane : lanes)
        mask.push_back(block + (lane >= 4 ? e.width() + lane - 4 : lane));
    return e.shuffle(a, b, mask);
  };
  auto halves = [&](Value a, Value b, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
    return combine(kind, perBlock(a, b, low), perBlock(a, b, high));
  };
  Value first = halves(rows[0], rows[1], {0, 4, 1, 5}, {2, 6, 3, 7});
  Value second = halves(rows[2], rows[3], {0, 4, 1, 5}, {2, 6, 3, 7});
  Value sums = halves(first, second, {0, 1, 4, 5}, {2, 3, 6, 7});
  for (int64_t lanes = e.width() / 2; lanes >= 4; lanes /= 2) {
    auto low = llvm::to_vector(llvm::seq(lanes)),
         high = llvm::to_vector(llvm::seq(lanes, 2 * lanes));
    sums = combine(kind, e.shuffle(sums, sums, low), e.shuffle(sums, sums, high));
  }
  return sums;
}

/// Elements of a column before the end, four at a time where they lie side by side, then what is
/// left.
static void forEachElement(Emitter &e, const TileMemory &column, int64_t rows, Offset end,
                           function_ref<void(Offset, int64_t)> body) {
  int64_t whole = isDenseColumn(column) ? rows / 4 * 4 : 0;
  if (whole)
    e.loop(0, e.min(whole, end), 4, [&](Offset row) { body(row, 4); });
  e.loop(whole, whole ? Offset(rows) : e.min(rows, end), 1, [&](Offset row) { body(row, 1); });
}

void KernelLowering::reduceColumns(ReduceOp reduce, const TileMemory &destination) {
  TileType type = reduce.getInput().getType();
  // A column vector summed over its rows is treated as one row of elements.
  bool columnAsRow = isColumnVector(type);
  int64_t rows = columnAsRow ? 1 : type.getRows(),
          columns = columnAsRow ? type.getRows() : type.getColumns();
  Offset limit = columns;
  if (reduce.getBound())
    limit = e.max(e.min(scalar(reduce.getBound()), limit), 0);
  Value start = neutral(e, reduce.getKind(), type.getElementType());
  bool lower = reduce.getLower() && !columnAsRow, upper = reduce.getUpper() && !columnAsRow;
  Offset endRow = extentOf(reduce.getResult()).endRow;
  forEachElement(e, destination, rows, endRow, [&](Offset row, int64_t together) {
    auto end = [&](int64_t r) { return lower ? e.min(limit, e.add(row, r + 1)) : limit; };
    auto add = [&](Offset column, bool cut, ValueRange sums) {
      RegisterTile at;
      at.row = row;
      at.rows = together;
      at.column = column;
      at.columnAsRow = columnAsRow;
      Vectors values = inputTile(reduce.getInput(), at);
      for (int64_t r = 0; r < together; ++r) {
        if (cut)
          values[r] = e.select(e.lanesBelow(e.sub(end(r), column)), values[r], start);
        if (upper)
          values[r] = inTriangle(Triangle::Upper, e.add(row, r), column, values[r], start);
        values[r] = combine(reduce.getKind(), sums[r], values[r]);
      }
      return values;
    };
    // Vectors that lie within all rows' ends, then those that an end cuts.
    Offset first = end(0), last = end(together - 1);
    bool isMultiple = first.isStatic() && first.constant % e.width() == 0;
    Offset whole = isMultiple ? first : e.mul(e.div(first, e.width()), e.width());
    Offset begin = upper ? e.mul(e.div(row, e.width()), e.width()) : Offset(0);
    Vectors sums =
        e.loop(begin, whole, e.width(), Vectors(together, start),
               [&](Offset column, ValueRange sums) { return add(column, /*cut=*/false, sums); });
    // A column of a wider tile must not be read past its end.
    if (!isMultiple)
      sums = e.loop(whole, last, e.width(), sums, [&](Offset column, ValueRange sums) {
        return add(column, /*cut=*/true, sums);
      });
    e.store(combineLanes(reduce.getKind(), sums), destination.base, address(destination, row, 0));
  });
}

// A matrix times a column: rows of the matrix are contiguous, and so are the column's elements.
void KernelLowering::addColumnProduct(const TileMemory &lhs, const TileMemory &rhs, int64_t depth,
                                      std::optional<Offset> bound, Triangle triangle,
                                      const TileMemory &destination, Offset endRow) {
  if (depth > 1 && !isDenseColumn(rhs)) { // a column of a wider tile, whose elements lie apart
    TileMemory column = allocate(depth, 1, rhs.element);
    copy(rhs, column);
    addColumnProduct(lhs, column, depth, bound, triangle, destination, endRow);
    scratch.free(column.offset.constant * (rhs.element.getIntOrFloatBitWidth() / 8));
    return;
  }
  bool lower = triangle == Triangle::Lower, upper = triangle == Triangle::Upper;
  Value zero = e.zero(lhs.element);
  Offset limit = bound ? e.max(e.min(*bound, depth), 0) : Offset(depth);
  forEachElement(e, destination, destination.rows, endRow, [&](Offset row, int64_t together) {
    auto end = [&](int64_t r) { return lower ? e.min(limit, e.add(row, r + 1)) : limit; };
    Offset begin = upper ? e.mul(e.div(row, e.width()), e.width()) : Offset(0);
    Offset last = end(together - 1);
    bool whole = !lower && last.isStatic() && last.constant % e.width() == 0;
    Vectors init(together, zero);
    Vectors sums = e.loop(begin, last, e.width(), init, [&](Offset k, ValueRange carried) {
      Value column = e.loadVector(rhs.element, rhs.base, address(rhs, k, 0));
      Vectors next;
      for (int64_t r = 0; r < together; ++r) {
        Value a = e.loadVector(lhs.element, lhs.base, address(lhs, e.add(row, r), k)), b = column;
        if (!whole) {
          Value valid = e.lanesBelow(e.sub(end(r), k));
          a = e.select(valid, a, zero);
          b = e.select(valid, b, zero);
        }
        if (upper) {
          a = inTriangle(triangle, e.add(row, r), k, a, zero);
          b = inTriangle(triangle, e.add(row, r), k, b, zero);
        }
        next.push_back(e.fma(a, b, carried[r]));
      }
      return next;
    });
    Offset offset = address(destination, row, 0);
    Value total = combineLanes(ReduceKind::Add, sums);
    Value old = together == 1
                    ? loadElement(destination, row, 0)
                    : e.loadVector(destination.element, destination.base, offset, together);
    e.store(arith::AddFOp::create(e, old, total), destination.base, offset);
  });
}

LogicalResult KernelLowering::lowerReduce(ReduceOp reduce) {
  if (reduce.getResult().use_empty())
    return success();
  TileMemory destination = allocateFor(reduce.getResult());
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

/// Sums in f64, whose upper and lower digits are two f32.
void KernelLowering::lowerCumulativeSum(CumulativeSumOp sum) {
  if (sum.getHigh().use_empty() && sum.getLow().use_empty())
    return;
  TileMemory source = storageOf(sum.getInput());
  TileMemory high = allocateFor(sum.getHigh()), low = allocateFor(sum.getLow());
  TileType type = sum.getInput().getType();
  Type f64 = e.getF64Type(), element = type.getElementType();
  auto widened = [&](Value x) -> Value { return arith::ExtFOp::create(e, f64, x); };
  auto rounded = [&](Value x) -> Value { return arith::TruncFOp::create(e, element, x); };
  e.loop(0, type.getRows(), 1, [&](Offset row) {
    Value zero = e.constant(e.getF64FloatAttr(0));
    e.loop(0, type.getColumns(), 1, ValueRange{zero}, [&](Offset column, ValueRange carried) {
      Value total = arith::AddFOp::create(e, carried[0], widened(loadElement(source, row, column)));
      Value upper = rounded(total);
      Value lower = rounded(arith::SubFOp::create(e, total, widened(upper)));
      e.store(upper, high.base, address(high, row, column));
      e.store(lower, low.base, address(low, row, column));
      return Vectors{total};
    });
  });
}

/// Row by row, each a run of diagonals, in their order or the other way round.
void KernelLowering::lowerDiagonalSums(DiagonalSumsOp sums) {
  if (sums.getResult().use_empty())
    return;
  TileMemory source = storageOf(sums.getSource()), destination = allocateFor(sums.getResult());
  TileType type = sums.getSource().getType();
  bool ascends = sums.getTransposed();
  Value zero = e.zero(destination.element);
  e.loop(0, e.padded(destination.rows), e.width(),
         [&](Offset i) { e.store(zero, destination.base, e.add(destination.offset, i)); });
  SmallVector<int64_t> reversed = llvm::to_vector(llvm::reverse(llvm::seq(e.width())));
  int64_t whole = type.getColumns() / e.width() * e.width();
  e.loop(0, type.getRows(), 1, [&](Offset row) {
    auto diagonalOf = [&](int64_t column) {
      return e.add(ascends ? e.sub(column, row) : e.sub(row, column), sums.getOrigin());
    };
    for (int64_t column = 0; column < whole; column += e.width()) {
      Value run = e.loadVector(source.element, source.base, address(source, row, column));
      Offset first = diagonalOf(ascends ? column : column + e.width() - 1);
      Offset place = address(destination, first, 0);
      Value old = e.loadVector(destination.element, destination.base, place);
      run = ascends ? run : e.shuffle(run, run, reversed);
      e.store(arith::AddFOp::create(e, old, run), destination.base, place);
    }
    for (int64_t column = whole; column < type.getColumns(); ++column) {
      Offset place = address(destination, diagonalOf(column), 0);
      Value old = loadElement(destination, diagonalOf(column), 0);
      Value element = loadElement(source, row, column);
      e.store(arith::AddFOp::create(e, old, element), destination.base, place);
    }
  });
}

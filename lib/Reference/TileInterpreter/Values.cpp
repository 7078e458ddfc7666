//===- Values.cpp - the ops from tiles to a tile --------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

/// Binds the matrix whose entry (r, c) is `entry(r, c)`.
template <typename Op, typename Entry>
static LogicalResult bindEntries(Machine &machine, Op op, Entry entry) {
  Matrix result(op.getResult().getType());
  for (int64_t r = 0; r < result.rows; ++r)
    for (int64_t c = 0; c < result.columns; ++c)
      result.at(r, c) = entry(r, c);
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::run(Machine &machine, tile::ConstantOp op) {
  double value = op.getValue().convertToDouble();
  return bindEntries(machine, op, [&](int64_t, int64_t) { return value; });
}

LogicalResult reference::run(Machine &machine, tile::ConstantColumnOp op) {
  return bindEntries(machine, op, [&](int64_t r, int64_t) { return op.getValues()[r]; });
}

LogicalResult reference::run(Machine &machine, tile::IotaOp op) {
  int64_t start = machine.index(op.getStart());
  return bindEntries(machine, op, [&](int64_t, int64_t c) { return double(start + c); });
}

LogicalResult reference::run(Machine &machine, tile::CausalMaskOp op) {
  const Matrix &input = machine.tile(op.getInput());
  bool upper = op.getUpper();
  return bindEntries(machine, op, [&](int64_t r, int64_t c) {
    return (upper ? c >= r : c <= r) ? input.at(r, c) : 0;
  });
}

LogicalResult reference::run(Machine &machine, tile::ReduceOp op) {
  const Matrix &input = machine.tile(op.getInput());
  bool overRows = op.getAxis() == tile::Axis::Rows;
  bool isMax = op.getKind() == tile::ReduceKind::Max;
  int64_t size = overRows ? input.rows : input.columns;
  int64_t bound = machine.indexOr(op.getBound(), size);
  if (failed(checkBound(op, bound, size)))
    return failure();
  return bindEntries(machine, op, [&](int64_t r, int64_t c) {
    double result = isMax ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = 0; i < bound; ++i) {
      int64_t row = overRows ? i : r, column = overRows ? c : i;
      if ((op.getLower() && column > row) || (op.getUpper() && column < row))
        continue;
      double x = input.at(row, column);
      if (!isMax)
        result += x;
      else if (!(x <= result)) // NaN wins and stays
        result = std::isnan(result) ? result : x;
    }
    return result;
  });
}

// Sums in f64 have nothing left over: `low` is zero.
LogicalResult reference::run(Machine &machine, tile::CumulativeSumOp op) {
  const Matrix &input = machine.tile(op.getInput());
  Matrix sums(op.getHigh().getType()), rest(op.getLow().getType());
  for (int64_t r = 0; r < sums.rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < sums.columns; ++c) {
      sums.at(r, c) = sum += input.at(r, c);
      rest.at(r, c) = 0;
    }
  }
  if (failed(machine.bindTile(op.getHigh(), {std::move(sums)})))
    return failure();
  return machine.bindTile(op.getLow(), {std::move(rest)});
}

namespace {
/// Rows of the source that monomials are products of, and their weights.
struct MonomialTable {
  SmallVector<int64_t> rows; // `slots` for each monomial
  int64_t slots;
  std::optional<ArrayRef<double>> weights;

  double weightOf(int64_t monomial) const { return weights ? (*weights)[monomial] : 1; }
  /// The factors of a monomial in a column, but for the one in `left`.
  double product(const Matrix &source, int64_t monomial, int64_t column, int64_t left = -1) const {
    double product = weightOf(monomial);
    for (int64_t slot = 0; slot < slots; ++slot)
      if (slot != left)
        product *= source.at(rows[monomial * slots + slot], column);
    return product;
  }
};
} // namespace

/// The table of an op with `count` monomials from `first` on; an error where it has none of them.
template <typename Op>
static FailureOr<MonomialTable> tableOf(Op op, int64_t first, int64_t count) {
  auto shape = cast<ShapedType>(op.getTable().getType()).getShape();
  if (first < 0 || first + count > shape[0])
    return op.emitError("the table has no rows ") << first << " to " << first + count;
  MonomialTable table{{}, shape[1], op.getWeights()};
  for (const APInt &row : op.getTable().template getValues<APInt>())
    table.rows.push_back(row.getSExtValue());
  return table;
}

LogicalResult reference::run(Machine &machine, tile::MonomialsOp op) {
  const Matrix &source = machine.tile(op.getSource());
  int64_t first = machine.index(op.getFirst());
  FailureOr<MonomialTable> table = tableOf(op, first, op.getResult().getType().getRows());
  if (failed(table))
    return failure();
  return bindEntries(machine, op,
                     [&](int64_t r, int64_t c) { return table->product(source, first + r, c); });
}

LogicalResult reference::run(Machine &machine, tile::ContractOp op) {
  const Matrix &source = machine.tile(op.getSource()), &gradient = machine.tile(op.getGradient());
  int64_t first = machine.index(op.getFirst());
  FailureOr<MonomialTable> table = tableOf(op, first, gradient.rows);
  if (failed(table))
    return failure();
  Matrix result = machine.tile(op.getAcc());
  for (int64_t r = 0; r < gradient.rows; ++r)
    for (int64_t slot = 0; slot < table->slots; ++slot)
      for (int64_t c = 0; c < gradient.columns; ++c)
        result.at(table->rows[(first + r) * table->slots + slot], c) +=
            gradient.at(r, c) * table->product(source, first + r, c, slot);
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::run(Machine &machine, tile::SliceOp op) {
  const Matrix &source = machine.tile(op.getSource());
  tile::TileType type = op.getResult().getType();
  int64_t row = machine.index(op.getRow()), column = machine.index(op.getColumn());
  if (row < 0 || column < 0 || row + type.getRows() > source.rows ||
      column + type.getColumns() > source.columns)
    return op.emitError("a window ") << type << " at [" << row << ", " << column << "] is outside "
                                     << op.getSource().getType();
  return bindEntries(machine, op,
                     [&](int64_t r, int64_t c) { return source.at(row + r, column + c); });
}

// Binding rounds to the elements of the type.
LogicalResult reference::run(Machine &machine, tile::PackOp op) {
  for (Value result : op.getPacked())
    if (failed(machine.bindTile(result, {machine.tile(op.getSource())})))
      return failure();
  return success();
}

LogicalResult reference::run(Machine &machine, tile::ConcatOp op) {
  Matrix result(op.getResult().getType());
  auto end = result.numbers.begin();
  for (Value input : op.getInputs())
    end = llvm::copy(machine.tile(input).numbers, end);
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::run(Machine &machine, tile::SelectRowsOp op) {
  const Matrix &source = machine.tile(op.getSource());
  return bindEntries(machine, op,
                     [&](int64_t r, int64_t c) { return source.at(op.getRows()[r], c); });
}

LogicalResult reference::run(Machine &machine, tile::TransposeOp op) {
  const Matrix &source = machine.tile(op.getSource());
  return bindEntries(machine, op, [&](int64_t r, int64_t c) { return source.at(c, r); });
}

LogicalResult reference::run(Machine &machine, tile::ToeplitzOp op) {
  const Matrix &diagonals = machine.tile(op.getDiagonals());
  int64_t origin = op.getOrigin();
  bool transposed = op.getTransposed();
  return bindEntries(machine, op, [&](int64_t r, int64_t c) {
    return diagonals.at(origin + (transposed ? c - r : r - c), 0);
  });
}

LogicalResult reference::run(Machine &machine, tile::DiagonalSumsOp op) {
  const Matrix &source = machine.tile(op.getSource());
  Matrix sums(op.getResult().getType());
  for (int64_t r = 0; r < source.rows; ++r)
    for (int64_t c = 0; c < source.columns; ++c)
      sums.at(op.getOrigin() + (op.getTransposed() ? c - r : r - c), 0) += source.at(r, c);
  return machine.bindTile(op.getResult(), {std::move(sums)});
}

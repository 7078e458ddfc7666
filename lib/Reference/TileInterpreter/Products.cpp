//===- Products.cpp - what is multiplied, and in what precision -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include <limits>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;
using llvm::APFloat;
using tile::Precision;

constexpr double kUnspecified = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static double convert(double value, const llvm::fltSemantics &format, APFloat::roundingMode mode) {
  APFloat number(value);
  bool losesInfo;
  number.convert(format, mode, &losesInfo);
  return number.convertToDouble();
}

double reference::nearest(Precision precision, double value) {
  switch (precision) {
  case Precision::F64:
  case Precision::F32:
    return value;
  case Precision::TF32:
  case Precision::SplitTF32:
    return convert(value, APFloat::FloatTF32(), APFloat::rmNearestTiesToAway);
  case Precision::BF16:
  case Precision::SplitBF16:
    return convert(value, APFloat::BFloat(), APFloat::rmNearestTiesToEven);
  case Precision::F16:
    return convert(value, APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven);
  }
  llvm_unreachable("not a precision");
}

namespace {
/// The elements of an operand as they are multiplied, and what these left over where it is split.
struct Operand {
  Matrix high;
  std::optional<Matrix> low;

  Operand(const Matrix &matrix, Precision precision) : high(matrix) {
    bool isSplit = precision == Precision::SplitTF32 || precision == Precision::SplitBF16;
    if (isSplit)
      low = Matrix(matrix.rows, matrix.columns);
    for (size_t i = 0; i < matrix.numbers.size(); ++i) {
      double value = matrix.numbers[i];
      high.numbers[i] = nearest(precision, value);
      // What an infinity leaves over is NaN, as on machines.
      if (isSplit)
        low->numbers[i] = nearest(precision, value - high.numbers[i]);
    }
  }
};
} // namespace

/// Element (i, k) of `a` times element (l, j) of `b`.
static double multiply(const Operand &a, int64_t i, int64_t k, const Operand &b, int64_t l,
                       int64_t j) {
  double product = a.high.at(i, k) * b.high.at(l, j);
  if (a.low)
    product += a.high.at(i, k) * b.low->at(l, j) + a.low->at(i, k) * b.high.at(l, j);
  return product;
}

LogicalResult reference::checkBound(Operation *op, int64_t bound, int64_t size) {
  if (bound < 0 || bound > size)
    return op->emitError("the bound ") << bound << " is not between 0 and " << size;
  return success();
}

/// The precision of a product that has `use` as an operand and a matrix as its result.
static std::optional<Precision> precisionAt(OpOperand &use) {
  if (use.getOperandNumber() > 1)
    return std::nullopt;
  if (auto dot = dyn_cast<tile::DotOp>(use.getOwner())) {
    tile::TileType type = dot.getResult().getType();
    if (type.getRows() > 1 && type.getColumns() > 1)
      return dot.multipliesIn();
  }
  auto update = dyn_cast<tile::AccumulateOp>(use.getOwner());
  if (update && update.getBuffer().getType().getColumns() > 1)
    return update.multipliesIn();
  return std::nullopt;
}

std::optional<Precision> reference::keptPrecision(Value value) {
  for (OpOperand &use : value.getUses()) {
    std::optional<Precision> precision = precisionAt(use);
    // What views and features are computed from lies in memory as they do.
    if (isa<tile::SliceOp, tile::TransposeOp, tile::SelectRowsOp, tile::MonomialsOp>(
            use.getOwner()))
      precision = keptPrecision(use.getOwner()->getResult(0));
    if (precision == Precision::BF16 || precision == Precision::F16)
      return precision;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult reference::run(Machine &machine, tile::DotOp op) {
  Precision precision = machine.rounds() ? op.multipliesIn() : Precision::F64;
  Operand a(machine.tile(op.getLhs()), precision), b(machine.tile(op.getRhs()), precision);
  int64_t bound = machine.indexOr(op.getBound(), b.high.rows);
  if (failed(checkBound(op, bound, b.high.rows)))
    return failure();

  bool transposed = op.getLhsTransposed();
  Matrix result(op.getResult().getType());
  for (int64_t r = 0; r < result.rows; ++r) {
    // A lowering computes whole tiles and does touch what it is told to be zero.
    int64_t first = op.getUpperLhs() ? std::min(bound, r) : 0;
    int64_t end = op.getLowerLhs() ? std::min(bound, r + 1) : bound;
    for (int64_t k = 0; k < bound; ++k)
      if (double entry = transposed ? a.high.at(k, r) : a.high.at(r, k))
        if (k < first || k >= end)
          return op.emitError(op.getLowerLhs() ? "lower_lhs" : "upper_lhs")
                 << ", but the entry in row " << r << ", column " << k << " is " << entry;
    for (int64_t c = 0; c < result.columns; ++c)
      result.at(r, c) = op.getAcc() ? machine.tile(op.getAcc()).at(r, c) : 0;
    for (int64_t k = first; k < end; ++k)
      for (int64_t c = 0; c < result.columns; ++c)
        result.at(r, c) += multiply(a, transposed ? k : r, transposed ? r : k, b, k, c);
    for (int64_t c = 0; c < result.columns; ++c)
      if ((op.getLower() && c > r) || (op.getUpper() && c < r))
        result.at(r, c) = kUnspecified;
  }
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::run(Machine &machine, tile::AccumulateOp op) {
  std::shared_ptr<Buffer> buffer = machine.buffer(op.getBuffer());
  Precision precision = machine.rounds() ? op.multipliesIn() : Precision::F64;
  Operand a(machine.tile(op.getLhs()), precision), b(machine.tile(op.getRhs()), precision);
  int64_t row = machine.index(op.getRow());
  int64_t terms = machine.indexOr(op.getBound(), b.high.rows);
  if (failed(checkRows(op, *buffer, row, a.high.rows)) ||
      failed(checkBound(op, terms, b.high.rows)))
    return failure();
  double factor = op.getFactor() ? machine.tile(op.getFactor()).at(0, 0) : 1.0;
  Type f32 = Float32Type::get(op.getContext());
  for (int64_t r = 0; r < a.high.rows; ++r) {
    ++buffer->writes[row + r];
    for (int64_t c = 0; c < b.high.columns; ++c) {
      double sum = factor * buffer->at(row + r, c);
      for (int64_t k = 0; k < terms; ++k)
        sum += multiply(a, r, k, b, k, c);
      buffer->at(row + r, c) = machine.rounded(f32, sum);
    }
  }
  return success();
}

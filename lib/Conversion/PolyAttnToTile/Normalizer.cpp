//===- Normalizer.cpp - denominators of attentions ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Normalizer.h"

using namespace mlir;
using namespace polyattn;

/// A map over the tiles that there are.
static Value mapRows(TileBuilder &b, const RowScores &rows,
                     function_ref<Value(ElementBuilder &, const RowScores &)> body) {
  SmallVector<Value> tiles;
  for (Value tile : {rows.sum, rows.keys, rows.largest, rows.total})
    if (tile)
      tiles.push_back(tile);
  return b.map(tiles, [&](ElementBuilder &e, ValueRange in) {
    RowScores elements = rows;
    size_t next = 0;
    for (Value *value : {&elements.sum, &elements.keys, &elements.largest, &elements.total})
      if (*value)
        *value = in[next++];
    return body(e, elements);
  });
}

/// The denominator before its floor. `unit` is what scores are multiplied by, null for 1.
static Value totalOf(ElementBuilder &e, NormalizerAttr normalizer, const RowScores &row,
                     Value unit) {
  auto scaledByUnit = [&](Value x) { return unit ? e.mul(x, unit) : x; };
  Value sum = scaledByUnit(row.sum), total = sum;
  double bias = normalizer.getBias().convertToDouble(), eps = normalizer.getEps().convertToDouble();
  if (row.largest) {
    Value factor = e.constant(eps);
    total = e.add(total, e.mul(factor, scaledByUnit(row.largest)));
  } else {
    bias += eps;
  }
  if (bias != 0)
    total = e.add(total, e.constant(bias));
  if (!normalizer.getGuardAdd().isZero()) {
    Value magnitude = math::AbsFOp::create(e, sum);
    Value small = arith::CmpFOp::create(e, arith::CmpFPredicate::OLE, magnitude,
                                        e.constant(normalizer.getGuardBelow().convertToDouble()));
    Value guarded = e.add(total, e.constant(normalizer.getGuardAdd().convertToDouble()));
    total = e.select(small, guarded, total);
  }
  return total;
}

bool RowNormalizer::hasSlope() const {
  return attr.hasDenominator() && !attr.getMinDenom().isZero();
}

/// Whether the floor is the denominator.
static Value isBelowFloor(ElementBuilder &e, NormalizerAttr normalizer, Value total) {
  Value magnitude = math::AbsFOp::create(e, total);
  return e.less(magnitude, e.constant(normalizer.getMinDenom().convertToDouble()));
}

static Value withFloor(ElementBuilder &e, NormalizerAttr normalizer, Value total) {
  if (normalizer.getMinDenom().isZero())
    return total;
  double floor = normalizer.getMinDenom().convertToDouble();
  Value small = isBelowFloor(e, normalizer, total);
  Value isNegative = e.less(total, e.constant(0)), negative = e.constant(-floor);
  return e.select(small, e.select(isNegative, negative, e.constant(floor)), total);
}

static Value isEmptyRow(ElementBuilder &e, Value keys) { return e.less(keys, e.constant(1)); }

static Value zeroWhere(ElementBuilder &e, Value isEmpty, Value x) {
  return isEmpty ? e.select(isEmpty, e.constant(0), x) : x;
}

/// 1, or one over the number of keys; null for 1.
Value RowNormalizer::unit(ElementBuilder &e, Value isEmpty, Value keys) const {
  if (!attr.isMean())
    return {};
  Value all = keysBefore ? e.add(keys, keysBefore) : keys;
  return zeroWhere(e, isEmpty, e.div(e.constant(1), all));
}

Value RowNormalizer::totals(TileBuilder &b, const RowScores &rows) const {
  return mapRows(b, rows, [&](ElementBuilder &e, const RowScores &row) {
    Value isEmpty = hasEmptyRows ? isEmptyRow(e, row.keys) : Value();
    return totalOf(e, attr, row, unit(e, isEmpty, row.keys));
  });
}

Value RowNormalizer::factors(TileBuilder &b, const RowScores &rows) const {
  RowScores used = rows;
  if (rows.total)
    used.sum = used.largest = Value();
  return mapRows(b, used, [&](ElementBuilder &e, const RowScores &row) {
    Value isEmpty = hasEmptyRows ? isEmptyRow(e, row.keys) : Value();
    Value unit = this->unit(e, isEmpty, row.keys);
    if (!attr.hasDenominator())
      return unit;
    Value total = withFloor(e, attr, row.total ? row.total : totalOf(e, attr, row, unit));
    Value factor = e.div(unit ? unit : e.constant(1), total);
    return hasInitialState ? factor : zeroWhere(e, isEmpty, factor);
  });
}

Value RowNormalizer::factorsOfScores(TileBuilder &b, const RowScores &rows, Value factors) const {
  return b.map({rows.total, factors}, [&](ElementBuilder &e, ValueRange in) {
    return e.select(isBelowFloor(e, attr, in[0]), e.constant(0), in[1]);
  });
}

/// The number of the call's keys that each row sees, [C x 1], or where it is the same one [1 x 1].
static Value visibleKeys(TileBuilder &b, AttendOp op, const ProgramContext &context,
                         const BlockSpan &span) {
  auto positions = [&](Value first) -> Value {
    return b.transpose(
        tile::IotaOp::create(b, b.tileType(1, context.block), context.share->rowOfCall(b, first)));
  };
  if (context.mask == Mask::Causal)
    return positions(b.addIndex(span.position, b.index(1)));
  Value all = tile::IotaOp::create(b, b.tileType(1, 1), context.frame.sequence.keys);
  if (context.mask == Mask::Full && op.getWindow())
    return b.map({positions(span.position), all}, [&](ElementBuilder &e, ValueRange in) {
      Value window = e.constant(double(*op.getWindow()));
      Value first = e.larger(e.add(e.sub(in[0], window), e.constant(1)), e.constant(0));
      return e.sub(e.smaller(e.add(in[0], window), in[1]), first);
    });
  if (context.mask == Mask::Full)
    return all;
  return b.sub(all, positions(span.position));
}

Value polyattn::normalize(TileBuilder &b, AttendOp op, const ProgramContext &context,
                          const Accumulators &accumulators, const BlockSpan &span,
                          RowFactors *rowFactors) {
  bool mean = op.getNormalizer().isMean();
  RowNormalizer normalizer{op.getNormalizer(), Value(), /*hasEmptyRows=*/!context.isOrdered(),
                           /*hasInitialState=*/op.hasInitialState()};
  if (mean && context.mask == Mask::Causal && context.frame.sequence.firstPosition)
    normalizer.keysBefore =
        arith::SIToFPOp::create(b, b.getF32Type(), context.frame.sequence.firstPosition);
  if (!accumulators.denominator && !mean)
    return accumulators.numerator;
  RowScores rows;
  rows.sum = accumulators.denominator;
  if (mean || !context.isOrdered())
    rows.keys = visibleKeys(b, op, context, span);
  if (op.getNormalizer().needsRowMax())
    rows.largest = accumulators.largest;
  if (rowFactors && normalizer.hasSlope())
    rows.total = normalizer.totals(b, rows);
  Value factors = normalizer.factors(b, rows);
  if (rowFactors && op.getNormalizer().isSoftmax()) {
    rowFactors->ofNumerator =
        b.map({accumulators.largest, rows.sum}, [](ElementBuilder &e, ValueRange in) {
          return e.add(in[0], math::LogOp::create(e, in[1]));
        });
  } else if (rowFactors) {
    // Where all rows see the same number of keys it is one factor.
    Value ofRows = b.typeOf(factors).getRows() == context.block
                       ? factors
                       : b.mul(b.constant(context.block, 1, 1), factors);
    *rowFactors = {ofRows, ofRows};
    if (!accumulators.denominator)
      rowFactors->ofDenominator = b.constant(context.block, 1, 0);
    else if (rows.total)
      rowFactors->ofDenominator = normalizer.factorsOfScores(b, rows, ofRows);
  }
  return b.mul(accumulators.numerator, factors);
}

//===- BlockDecay.cpp - the decay inside a block of positions -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecay.h"

using namespace mlir;
using namespace polyattn;

/// NaN stays NaN.
static Value atLeast256(TileBuilder &b, Value gates) {
  return b.map(gates, [](ElementBuilder &e, ValueRange in) {
    constexpr double least = -256;
    return e.select(e.less(in[0], e.constant(least)), e.constant(least), in[0]);
  });
}

static HighLow transposed(TileBuilder &b, const HighLow &x) {
  return {b.transpose(x.high), x.low ? b.transpose(x.low) : Value()};
}

namespace {
/// unit (x - y) as the elements of a map whose first inputs are `others`. Without y it is unit x.
class Difference {
public:
  Difference(HighLow x, HighLow y, Value unit, ValueRange others = {})
      : inputs(others), hasLow(bool(x.low)), hasY(bool(y.high)), hasUnit(bool(unit)),
        first(others.size()) {
    for (Value value : {x.high, y.high, x.low, y.low, unit})
      if (value)
        inputs.push_back(value);
  }
  Value element(ElementBuilder &e, ValueRange in) const {
    size_t next = first;
    auto part = [&] {
      Value x = in[next++];
      return hasY ? e.sub(x, in[next++]) : x;
    };
    Value result = part();
    if (hasLow)
      result = e.add(result, part());
    return hasUnit ? e.mul(result, in[next]) : result;
  }
  Value map(TileBuilder &b) const {
    return b.map(inputs, [&](ElementBuilder &e, ValueRange in) { return element(e, in); });
  }

  SmallVector<Value> inputs;

private:
  bool hasLow, hasY, hasUnit;
  size_t first;
};
} // namespace

Value PairDecay::apply(TileBuilder &b, Value scores) const {
  bool forwards = direction == Direction::Forwards;
  Difference difference(forwards ? query : key, forwards ? key : query, unit, scores);
  return b.map(difference.inputs, [&](ElementBuilder &e, ValueRange in) {
    return e.mul(in[0], math::ExpOp::create(e, difference.element(e, in)));
  });
}

BlockDecay::BlockDecay(TileBuilder &b, HighLow row, HighLow all, Value unit)
    : row(row), column(transposed(b, row)), all(all), unit(unit) {}

BlockDecay BlockDecay::ofGates(TileBuilder &b, Value gates) {
  int64_t columns = TileBuilder::typeOf(gates).getColumns();
  auto sums =
      tile::CumulativeSumOp::create(b, gates.getType(), gates.getType(), atLeast256(b, gates));
  Value last = b.index(columns - 1);
  HighLow all{b.sliceColumns(sums.getHigh(), last, 1), b.sliceColumns(sums.getLow(), last, 1)};
  return BlockDecay(b, {sums.getHigh(), sums.getLow()}, all, /*unit=*/Value());
}

/// Numbers of positions are exact, and so are their differences.
BlockDecay BlockDecay::ofEqualGates(TileBuilder &b, Value gate, int64_t columns, Value valid) {
  Value counts = tile::IotaOp::create(b, b.tileType(1, columns), b.index(1));
  Value count = tile::IotaOp::create(b, b.tileType(1, 1), valid);
  return BlockDecay(b, {counts, Value()}, {count, Value()}, atLeast256(b, gate));
}

Value BlockDecay::upToRow(TileBuilder &b) const { return Difference(row, {}, unit).map(b); }
Value BlockDecay::upToColumn(TileBuilder &b) const { return Difference(column, {}, unit).map(b); }

Value BlockDecay::afterRow(TileBuilder &b) const { return Difference(all, row, unit).map(b); }
Value BlockDecay::afterColumn(TileBuilder &b) const { return Difference(all, column, unit).map(b); }

Value BlockDecay::total(TileBuilder &b) const { return Difference(all, {}, unit).map(b); }

Value polyattn::expOf(TileBuilder &b, Value logarithms) {
  return b.map(logarithms, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::ExpOp::create(e, in[0]);
  });
}

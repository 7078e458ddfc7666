//===- LagTables.cpp - scores by the distance of positions ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LagTables.h"
#include "polyattn/Schedule/Schedule.h"

using namespace mlir;
using namespace polyattn;

/// Code for several columns at a time reads so many numbers of a diagonal tile at most.
static constexpr int64_t kLanes = 16;

LagRows LagRows::of(AttendOp attend, const LagTable &lags) {
  // Short calls have blocks of their own, which may be longer.
  Schedule schedule = Schedule::of(attend.getScheduleAttr());
  int64_t block = std::max(schedule.block, kLanes);
  for (int64_t length : schedule.shortBlocks)
    block = std::max(block, length);
  return {lags, 2 * block};
}

Value LagRows::rowOf(TileBuilder &b, Value lag) const {
  Value row = b.addIndex(lag, b.index(margin() + lags.origin));
  row = arith::MaxSIOp::create(b, row, b.index(margin() - longest));
  return b.minIndex(row, b.index(margin() + lags.count));
}

static Value exponential(TileBuilder &b, Value tile) {
  return b.map(tile, [](ElementBuilder &e, ValueRange in) -> Value {
    return math::ExpOp::create(e, in[0]);
  });
}

Value LagTables::get(TileBuilder &b, WeightTiles &weights, RelativeOp op, Value head,
                     const LagRows &rows) {
  Value table = weights.get(b, op.getTable(), head);
  Value &buffer = buffers[{op.getResult(), table}];
  if (buffer)
    return buffer;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(table);
  if (rows.lags.isLog)
    table = exponential(b, table);
  buffer = createLagSums(b, rows);
  tile::WriteOp::create(b, table, buffer, b.index(rows.margin()));
  if (!rows.lags.repeatsLast)
    return buffer; // buffers begin with zeros
  auto repeat = [&](int64_t place, int64_t row) {
    Value number = b.slice(table, b.index(place), 1);
    tile::WriteOp::create(b, b.add(b.constant(rows.margin(), 1, 0), number), buffer, b.index(row));
  };
  repeat(0, 0);
  repeat(rows.lags.count - 1, rows.margin() + rows.lags.count);
  return buffer;
}

Value polyattn::createLagSums(TileBuilder &b, const LagRows &rows) {
  return tile::BufferOp::create(b, tile::BufferType::get(b.getContext(), rows.count(), 1),
                                /*persistent=*/false);
}

/// What lags beyond the table have adds to its first and its last number.
static Value addBeyond(TileBuilder &b, Value own, Value sums, const LagRows &rows) {
  auto total = [&](int64_t row) {
    Value part = tile::ReadOp::create(b, b.tileType(rows.margin(), 1), sums, b.index(row));
    return b.reduceRows(part);
  };
  int64_t count = rows.lags.count;
  Value before = total(0), after = total(rows.margin() + count);
  if (count == 1)
    return b.add(b.add(own, before), after);
  SmallVector<Value> parts = {b.add(b.slice(own, b.index(0), 1), before)};
  if (count > 2)
    parts.push_back(b.slice(own, b.index(1), count - 2));
  parts.push_back(b.add(b.slice(own, b.index(count - 1), 1), after));
  return b.concat(parts);
}

Value polyattn::foldLagSums(TileBuilder &b, WeightTiles &weights, Value head, Value sums,
                            const LagRows &rows) {
  Value own = tile::ReadOp::create(b, b.tileType(rows.lags.count, 1), sums, b.index(rows.margin()));
  if (rows.lags.repeatsLast)
    own = addBeyond(b, own, sums, rows);
  // d exp(x) = exp(x) dx.
  return rows.lags.isLog ? b.mul(own, exponential(b, weights.get(b, rows.lags.table, head))) : own;
}

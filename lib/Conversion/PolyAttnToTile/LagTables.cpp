//===- LagTables.cpp - scores by the distance of positions ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LagTables.h"

using namespace mlir;
using namespace polyattn;

/// Rows before the table, and as many after it. Diagonals that are all beyond the table are then
/// read from these, with as many to spare on either side: code for several elements at a time may
/// look at some that it does not use.
static int64_t marginOf(int64_t longest) { return 2 * longest; }

Value LagTables::get(TileBuilder &b, WeightTiles &weights, RelativeOp op, Value head,
                     int64_t longest) {
  Value table = weights.get(b, op.getTable(), head);
  Value &buffer = buffers[{op.getResult(), table}];
  if (buffer)
    return buffer;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(table);
  if (op.getLog())
    table = b.map(table, [](ElementBuilder &e, ValueRange in) -> Value {
      return math::ExpOp::create(e, in[0]);
    });
  int64_t count = op.getCount(), margin = marginOf(longest);
  buffer = tile::BufferOp::create(b, tile::BufferType::get(b.getContext(), count + 2 * margin, 1),
                                  /*persistent=*/false);
  tile::WriteOp::create(b, table, buffer, b.index(margin));
  if (op.getBeyond() == Beyond::Zero)
    return buffer; // buffers begin with zeros
  auto repeat = [&](int64_t place, int64_t row) {
    Value number = b.slice(table, b.index(place), 1);
    tile::WriteOp::create(b, b.add(b.constant(margin, 1, 0), number), buffer, b.index(row));
  };
  repeat(0, 0);
  repeat(count - 1, margin + count);
  return buffer;
}

Value LagTables::diagonals(TileBuilder &b, WeightTiles &weights, RelativeOp op, Value head,
                           Value first, int64_t count, int64_t longest) {
  Value buffer = get(b, weights, op, head, longest);
  int64_t margin = marginOf(longest);
  // Where all lags are beyond the table it does not matter by how much.
  Value row = b.addIndex(first, b.index(margin + op.getOrigin()));
  row = arith::MaxSIOp::create(b, row, b.index(margin - longest));
  row = b.minIndex(row, b.index(margin + op.getCount()));
  return tile::ReadOp::create(b, b.tileType(count, 1), buffer, row);
}

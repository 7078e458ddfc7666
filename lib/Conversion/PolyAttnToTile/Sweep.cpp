//===- Sweep.cpp - the blocks of positions of one program -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sweep.h"

using namespace mlir;
using namespace polyattn;

/// Every `length`-th position, in the sweep's direction.
Sweep::Values Sweep::forPositions(TileBuilder &b, Value length, ValueRange carried,
                                  TileBuilder::CarryingBody body) const {
  if (direction == Direction::Forwards)
    return b.loop(begin, end, length, carried, body);
  Value one = b.index(1);
  Value before = b.subIndex(b.addIndex(b.subIndex(end, begin), length), one);
  Value count = b.divIndex(before, length), last = b.subIndex(count, one);
  return b.loop(b.index(0), count, one, carried, [&](Value i, ValueRange in) {
    return body(b.addIndex(begin, b.mulIndex(b.subIndex(last, i), length)), in);
  });
}

Sweep::Values Sweep::forBlocks(TileBuilder &b, ValueRange carried, CarryingBody body) const {
  Value length = b.index(block);
  return forPositions(b, length, carried, [&](Value position, ValueRange in) {
    Value left = b.subIndex(end, position);
    return body(BlockPlace{position, b.minIndex(left, length), begin}, in);
  });
}

void Sweep::forBlocks(TileBuilder &b, Body body) const {
  forBlocks(b, ValueRange(), [&](const BlockPlace &place, ValueRange) {
    body(place);
    return Values();
  });
}

void Sweep::forRuns(TileBuilder &b, int64_t run, function_ref<void(const Sweep &)> body) const {
  Value length = b.index(run);
  forPositions(b, length, ValueRange(), [&](Value start, ValueRange) {
    body(Sweep{start, b.minIndex(b.addIndex(start, length), end), block, direction});
    return Values();
  });
}

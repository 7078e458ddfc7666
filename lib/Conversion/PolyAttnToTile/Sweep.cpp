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
Sweep::Values Sweep::forPositions(TileBuilder &b, int64_t length, ValueRange carried,
                                  TileBuilder::CarryingBody body) const {
  Value step = b.index(length);
  if (direction == Direction::Forwards)
    return b.loop(begin, end, step, carried, body);
  // What is a multiple of the length ends where its positions do.
  Value behind = end, extent = b.subIndex(end, begin);
  if (!isWhole || length != block) {
    Value before = b.subIndex(b.addIndex(extent, step), b.index(1));
    extent = b.mulIndex(b.divIndex(before, step), step);
    behind = b.addIndex(begin, extent);
  }
  return b.loop(b.index(0), extent, step, carried, [&](Value offset, ValueRange in) {
    return body(b.subIndex(b.subIndex(behind, offset), step), in);
  });
}

Sweep::Values Sweep::forAlignedBlocks(TileBuilder &b, ValueRange carried, CarryingBody body) const {
  Value length = b.index(block), first = b.mulIndex(b.divIndex(begin, length), length);
  // There may be no positions, even where blocks would begin before the end.
  Value isEmpty = b.compare(arith::CmpIPredicate::sge, begin, end);
  return b.loop(b.select(isEmpty, end, first), end, length, carried,
                [&](Value aligned, ValueRange in) {
                  Value position = arith::MaxSIOp::create(b, aligned, begin);
                  Value behind = b.minIndex(b.addIndex(aligned, length), end);
                  return body(BlockSpan{position, b.subIndex(behind, position), begin, end}, in);
                });
}

Sweep::Values Sweep::forBlocks(TileBuilder &b, ValueRange carried, CarryingBody body) const {
  if (isAligned)
    return forAlignedBlocks(b, carried, body);
  Value length = b.index(block);
  return forPositions(b, block, carried, [&](Value position, ValueRange in) {
    Value valid = isWhole ? length : b.minIndex(b.subIndex(end, position), length);
    return body(BlockSpan{position, valid, begin, end, /*isOnly=*/false, cached}, in);
  });
}

void Sweep::forBlocks(TileBuilder &b, Body body) const {
  forBlocks(b, ValueRange(), [&](const BlockSpan &span, ValueRange) {
    body(span);
    return Values();
  });
}

/// The first run has begun before this sweep, so that the others do not begin at multiples of
/// `run`.
void Sweep::forCachedRuns(TileBuilder &b, int64_t run,
                          function_ref<void(const Sweep &)> body) const {
  Value length = b.index(run), zero = b.index(0);
  Value all = b.addIndex(cached, b.subIndex(end, begin)), first = b.subIndex(begin, cached);
  b.loop(zero, all, length, [&](Value start) {
    Value isFirst = b.isEqual(start, zero), behind = b.addIndex(start, length);
    Value from = b.select(isFirst, begin, b.addIndex(first, start));
    Value to = b.addIndex(first, b.minIndex(behind, all));
    Sweep own{from, to, block, direction};
    own.cached = b.select(isFirst, cached, zero);
    own.isFull = b.compare(arith::CmpIPredicate::sle, behind, all);
    body(own);
  });
}

void Sweep::forRuns(TileBuilder &b, int64_t run, function_ref<void(const Sweep &)> body) const {
  if (cached)
    return forCachedRuns(b, run, body);
  Value length = b.index(run);
  forPositions(b, run, ValueRange(), [&](Value start, ValueRange) {
    Value after = b.minIndex(b.addIndex(start, length), end);
    body(Sweep{start, after, block, direction, isWhole && run % block == 0});
    return Values();
  });
}

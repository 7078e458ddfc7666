//===- ProductLoop.cpp - the terms of a register tile ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductLoop.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using polyattn::tile::Triangle;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static bool same(Offset a, Offset b) { return a.dynamic == b.dynamic && a.constant == b.constant; }

static bool sameMemory(const TileMemory &a, const TileMemory &b) {
  return a.base == b.base && same(a.offset, b.offset) && same(a.rowStride, b.rowStride);
}

ProductLoop::ProductLoop(Emitter &e, ArrayRef<Product> products, const RegisterTile &tile)
    : e(e), products(products), tile(tile), kernel(*products.front().kernel),
      unroll(stepsPerIteration(e.machine, products.size(), tile.rows, tile.vectors)) {
  // An upper triangle begins on the diagonal.
  Offset term = first().lhsTriangle == Triangle::Upper ? tile.row : Offset(0);
  for (auto [i, p] : llvm::enumerate(products)) {
    Offset row =
        p.lhsTransposed ? address(e, p.lhs, term, tile.row) : address(e, p.lhs, tile.row, term);
    lhs.push_back(begin(p.lhs, row, kernel.walkLhs(p, tile.rows)));
    unsigned shared = 0;
    while (shared < i && !sameMemory(products[shared].rhs, p.rhs))
      ++shared;
    rhs.push_back(shared < i ? Operand(rhs[shared])
                             : begin(p.rhs, address(e, p.rhs, term, tile.column),
                                     kernel.walkRhs(p, tile.vectors, e.width())));
  }
}

ProductLoop::Operand ProductLoop::begin(const TileMemory &storage, Offset start, OperandWalk walk) {
  pointers.push_back(e.pointer(storage.base, start, storage.element));
  strides.push_back(walk.stride);
  elements.push_back(storage.element);
  return {unsigned(pointers.size() - 1), std::move(walk), storage.element};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A step behind the pointers, for some of the rows.
Vectors ProductLoop::step(ValueRange at, int64_t number, Vectors accumulators, int64_t firstRow,
                          int64_t endRow) {
  DenseMap<unsigned, Vectors> loaded; // by pointer
  for (const Operand &operand : rhs) {
    Vectors &b = loaded[operand.pointer];
    if (b.empty())
      for (int64_t displacement : operand.walk.displacements)
        b.push_back(kernel.loadRhs(e, operand.element, at[operand.pointer],
                                   e.add(e.mul(operand.walk.stride, number), displacement)));
  }
  for (int64_t r = firstRow; r < endRow; ++r)
    for (size_t p = 0; p < products.size(); ++p) {
      const Operand &operand = lhs[p];
      Value a =
          kernel.loadLhs(e, operand.element, at[operand.pointer],
                         e.add(e.mul(operand.walk.stride, number), operand.walk.displacements[r]));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = accumulators[(p * tile.rows + r) * tile.vectors + v];
        sum = kernel.multiplyAdd(e, a, loaded[rhs[p].pointer][v], sum);
      }
    }
  return accumulators;
}

/// The sums, and the pointers `steps` further on.
Vectors ProductLoop::advance(Vectors accumulators, ValueRange at, int64_t steps) {
  for (auto [pointer, stride, element] : llvm::zip(at, strides, elements))
    accumulators.push_back(e.pointer(pointer, e.mul(stride, steps), element));
  return accumulators;
}

Vectors ProductLoop::iteration(ValueRange carried) {
  Vectors next = accumulatorsOf(carried);
  for (int64_t i = 0; i < unroll; ++i)
    next = step(pointersOf(carried), i, next, 0, tile.rows);
  next = advance(next, pointersOf(carried), unroll);
  for (auto [stream, line] : llvm::zip(streams, carried.take_back(streams.size()))) {
    e.prefetch(line, stream.written);
    next.push_back(e.pointer(line, stream.stride, stream.element));
  }
  return next;
}

Vectors ProductLoop::iterationOfOneTerm(ValueRange carried) {
  Vectors next = step(pointersOf(carried), 0, accumulatorsOf(carried), 0, tile.rows);
  return advance(next, pointersOf(carried), 1);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The next `to` terms, an iteration at a time, then those that are left.
void ProductLoop::addTerms(Offset to, bool isMultiple) {
  for (const FetchStream &stream : streams)
    carried.push_back(stream.pointer);
  Offset whole = to;
  if (to.isStatic())
    whole = to.constant / iterationTerms() * iterationTerms();
  else if (!isMultiple && unroll > 1)
    whole = Offset(arith::AndIOp::create(e, e.value(to), e.value(-iterationTerms())));
  carried = e.loop(0, whole, iterationTerms(), carried,
                   [&](Offset, ValueRange carried) { return iteration(carried); });
  carried.truncate(numAccumulators + pointers.size());
  carried = e.loop(whole, to, kernel.termsPerStep(), carried,
                   [&](Offset, ValueRange carried) { return iterationOfOneTerm(carried); });
}

/// The triangle of a tile on the diagonal: one row less for each term, or one more. Entries on the
/// other side of the diagonal are not read, so that nothing leaks from there.
void ProductLoop::addTriangle() {
  bool lower = first().lhsTriangle == Triangle::Lower;
  Vectors accumulators = accumulatorsOf(carried);
  for (int64_t r = 0; r < tile.rows; ++r)
    accumulators =
        step(pointersOf(carried), r, accumulators, lower ? r : 0, lower ? tile.rows : r + 1);
  carried = lower ? accumulators : advance(accumulators, pointersOf(carried), tile.rows);
}

/// Adds the terms of the triangle on the diagonal, of those before `end` only.
void ProductLoop::addTriangle(Offset end) {
  auto predicate = first().lhsTriangle == Triangle::Lower ? arith::CmpIPredicate::sle
                                                          : arith::CmpIPredicate::sge;
  Offset last = e.max(tile.row, e.min(e.add(tile.row, tile.rows), end));
  carried = e.loop(tile.row, last, 1, carried, [&](Offset k, ValueRange carried) {
    Vectors next = step(pointersOf(carried), 0, accumulatorsOf(carried), 0, tile.rows);
    Value number = e.value(e.sub(k, tile.row));
    for (size_t i = 0; i < next.size(); ++i) {
      int64_t row = int64_t(i) / tile.vectors % tile.rows;
      Value reached = arith::CmpIOp::create(e, predicate, number, e.value(row));
      next[i] = e.select(reached, next[i], carried[i]);
    }
    return advance(next, pointersOf(carried), 1);
  });
}

/// Row i of a lower triangle ends with term i: all rows up to the tile's first, then the triangle.
void ProductLoop::addLowerRows(Offset end) {
  addTerms(e.min(tile.row, end), !first().bound && tile.rows % iterationTerms() == 0);
  if (first().bound)
    addTriangle(end);
  else
    addTriangle();
}

/// Row i of an upper triangle begins with term i: the triangle, then all rows behind it.
void ProductLoop::addUpperRows(Offset end) {
  if (first().bound)
    addTriangle(end);
  else
    addTriangle();
  Offset behind = e.max(e.sub(end, e.add(tile.row, tile.rows)), 0);
  addTerms(behind, !first().bound && tile.rows % iterationTerms() == 0 &&
                       first().depth % iterationTerms() == 0);
}

Vectors ProductLoop::run(Vectors accumulators) {
  numAccumulators = accumulators.size();
  carried = std::move(accumulators);
  carried.append(pointers);
  Offset end = first().bound ? *first().bound : Offset(first().depth);
  switch (first().lhsTriangle) {
  case Triangle::None:
    addTerms(end, false);
    break;
  case Triangle::Lower:
    addLowerRows(end);
    break;
  case Triangle::Upper:
    addUpperRows(end);
    break;
  }
  return accumulatorsOf(carried);
}

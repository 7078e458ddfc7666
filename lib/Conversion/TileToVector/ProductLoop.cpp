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
  Offset term =
      first().lhsTriangle == Triangle::Upper ? e.div(tile.row, kernel.termsPerStep()) : Offset(0);
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

/// A step behind the pointers.
Vectors ProductLoop::step(ValueRange at, int64_t number, Vectors accumulators, TermsOfRow termsOf) {
  DenseMap<std::pair<unsigned, Terms>, Vectors> loaded; // by pointer
  auto vectorsOf = [&](const Operand &operand, Terms terms) -> Vectors {
    Vectors &all = loaded[{operand.pointer, Terms::All}];
    if (all.empty())
      for (int64_t displacement : operand.walk.displacements)
        all.push_back(kernel.loadRhs(e, operand.element, at[operand.pointer],
                                     e.add(e.mul(operand.walk.stride, number), displacement)));
    if (terms == Terms::All)
      return all;
    Vectors whole = all; // the map moves what it holds when it grows
    Vectors &kept = loaded[{operand.pointer, terms}];
    if (kept.empty())
      for (Value vector : whole)
        kept.push_back(kernel.keep(e, vector, terms));
    return kept;
  };
  // Loads of B come before those of A.
  for (const Operand &operand : rhs)
    vectorsOf(operand, Terms::All);
  for (int64_t r = 0; r < tile.rows; ++r) {
    std::optional<Terms> terms = termsOf(r);
    if (!terms)
      continue;
    for (size_t p = 0; p < products.size(); ++p) {
      const Operand &operand = lhs[p];
      Value a = kernel.loadLhs(
          e, operand.element, at[operand.pointer],
          e.add(e.mul(operand.walk.stride, number), operand.walk.displacements[r]), *terms);
      Vectors b = vectorsOf(rhs[p], *terms);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = accumulators[(p * tile.rows + r) * tile.vectors + v];
        sum = kernel.multiplyAdd(e, a, b[v], sum);
      }
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
    next = step(pointersOf(carried), i, next, [](int64_t) { return Terms::All; });
  next = advance(next, pointersOf(carried), unroll);
  for (auto [stream, line] : llvm::zip(streams, carried.take_back(streams.size()))) {
    e.prefetch(line, stream.written);
    next.push_back(e.pointer(line, stream.stride, stream.element));
  }
  return next;
}

Vectors ProductLoop::iterationOfOneStep(ValueRange carried, Terms terms) {
  Vectors next =
      step(pointersOf(carried), 0, accumulatorsOf(carried), [&](int64_t) { return terms; });
  return advance(next, pointersOf(carried), 1);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The largest multiple of a power of two that is not above `terms`.
static Offset roundedDown(Emitter &e, Offset terms, int64_t multiple) {
  if (terms.isStatic())
    return terms.constant / multiple * multiple;
  if (multiple == 1)
    return terms;
  return Offset(arith::AndIOp::create(e, e.value(terms), e.value(-multiple)));
}

/// The next `to` terms, an iteration at a time, then those that are left; of the last step perhaps
/// its first term alone.
void ProductLoop::addTerms(Offset to, bool isMultiple) {
  for (const FetchStream &stream : streams)
    carried.push_back(stream.pointer);
  Offset whole = isMultiple ? to : roundedDown(e, to, iterationTerms());
  carried = e.loop(0, whole, iterationTerms(), carried,
                   [&](Offset, ValueRange carried) { return iteration(carried); });
  carried.truncate(numAccumulators + pointers.size());
  if (isMultiple)
    return;
  int64_t terms = kernel.termsPerStep();
  Offset steps = roundedDown(e, to, terms);
  if (unroll > 1)
    carried = e.loop(whole, steps, terms, carried, [&](Offset, ValueRange carried) {
      return iterationOfOneStep(carried, Terms::All);
    });
  if (terms > 1)
    carried = e.loop(steps, to, terms, carried, [&](Offset, ValueRange carried) {
      return iterationOfOneStep(carried, Terms::First);
    });
}

/// The triangle of a tile on the diagonal: one row less for each term, or one more. Entries on the
/// other side of the diagonal are not read, so that nothing leaks from there.
void ProductLoop::addTriangle() {
  bool lower = first().lhsTriangle == Triangle::Lower;
  int64_t terms = kernel.termsPerStep();
  Vectors accumulators = accumulatorsOf(carried);
  int64_t steps = llvm::divideCeil(tile.rows, terms);
  for (int64_t i = 0; i < steps; ++i)
    accumulators =
        step(pointersOf(carried), i, accumulators, [&](int64_t row) -> std::optional<Terms> {
          int64_t begin = i * terms, last = begin + terms - 1;
          if (lower ? row >= last : row <= begin)
            return Terms::All;
          if (lower ? row < begin : row > last)
            return std::nullopt;
          return lower ? Terms::First : Terms::Second;
        });
  carried = lower ? accumulators : advance(accumulators, pointersOf(carried), steps);
}

/// One term of the triangle on the diagonal.
Vectors ProductLoop::addTermOfTriangle(ValueRange carried, Value term, Terms terms) {
  auto predicate = first().lhsTriangle == Triangle::Lower ? arith::CmpIPredicate::sle
                                                          : arith::CmpIPredicate::sge;
  Vectors next =
      step(pointersOf(carried), 0, accumulatorsOf(carried), [&](int64_t) { return terms; });
  for (size_t i = 0; i < next.size(); ++i) {
    int64_t row = int64_t(i) / tile.vectors % tile.rows;
    Value reached = arith::CmpIOp::create(e, predicate, term, e.value(row));
    next[i] = e.select(reached, next[i], carried[i]);
  }
  return next;
}

/// Adds the terms of the triangle on the diagonal, of those before `end` only.
void ProductLoop::addTriangle(Offset end) {
  Offset last = e.max(tile.row, e.min(e.add(tile.row, tile.rows), end));
  if (kernel.termsPerStep() == 1) {
    carried = e.loop(tile.row, last, 1, carried, [&](Offset k, ValueRange carried) {
      Value term = e.value(e.sub(k, tile.row));
      Vectors next = addTermOfTriangle(carried, term, Terms::All);
      return advance(next, pointersOf(carried), 1);
    });
    return;
  }
  // Each of a step's terms reaches rows of its own.
  carried = e.loop(tile.row, last, 2, carried, [&](Offset k, ValueRange carried) {
    Offset term = e.sub(k, tile.row);
    Vectors next = addTermOfTriangle(carried, e.value(term), Terms::First);
    next.append(pointersOf(carried).begin(), pointersOf(carried).end());
    Offset second = e.add(k, 1);
    Vectors both =
        e.loop(second, e.min(e.add(k, 2), last), 1, next, [&](Offset, ValueRange carried) {
          Vectors sums = addTermOfTriangle(carried, e.value(e.add(term, 1)), Terms::Second);
          sums.append(pointersOf(carried).begin(), pointersOf(carried).end());
          return sums;
        });
    return advance(accumulatorsOf(both), pointersOf(both), 1);
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

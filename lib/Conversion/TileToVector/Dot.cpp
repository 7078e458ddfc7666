//===- Dot.cpp - products -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

/// The products that evaluating `value` needs first; not those inside their accumulators.
void KernelLowering::collectDots(Value value, SmallVectorImpl<DotOp> &dots) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto dot = dyn_cast<DotOp>(op)) {
    if (!llvm::is_contained(dots, dot))
      dots.push_back(dot);
    return;
  }
  for (Value operand : op->getOperands())
    if (isa<TileType>(operand.getType()) && fusion.isDeferred(operand))
      collectDots(operand, dots);
}

Product KernelLowering::product(DotOp dot, bool flipped) {
  Product result;
  result.lhs = storageOf(dot.getLhs());
  result.rhs = storageOf(dot.getRhs());
  result.lhsTransposed = dot.getLhsTransposed();
  result.lowerLhs = dot.getLowerLhs();
  result.depth = dot.getRhs().getType().getRows();
  if (dot.getBound())
    result.bound = e.max(e.min(scalar(dot.getBound()), result.depth), 0);
  // (A b)^T = b^T A^T, and A^T is what lies in memory.
  if (flipped)
    std::swap(result.lhs, result.rhs);
  return result;
}

// Products that run over the same terms share one loop, and the rows of B where they can.
void KernelLowering::evaluateDots(ArrayRef<DotOp> dots, const RegisterTile &tile,
                                  Evaluated &known) {
  SmallVector<DotOp> left(dots);
  while (!left.empty()) {
    DotOp head = left.front();
    SmallVector<DotOp> group, rest;
    for (DotOp dot : left) {
      bool together = dot.getRhs().getType().getRows() == head.getRhs().getType().getRows() &&
                      dot.getBound() == head.getBound() && dot.getLowerLhs() == head.getLowerLhs();
      (together ? group : rest).push_back(dot);
    }
    Vectors sums;
    SmallVector<Product> products;
    for (DotOp dot : group) {
      Type element = dot.getResult().getType().getElementType();
      Vectors start = dot.getAcc() ? evaluate(dot.getAcc(), tile, known)
                                   : Vectors(tile.size(), e.zero(element));
      sums.append(start);
      products.push_back(product(dot, tile.flipped));
    }
    sums = multiply(products, tile, sums);
    for (auto [i, dot] : llvm::enumerate(group))
      known[dot.getResult()] =
          Vectors(sums.begin() + i * tile.size(), sums.begin() + (i + 1) * tile.size());
    left = rest;
  }
}

namespace {
/// How one operand is walked along k: fixed displacements from a pointer that moves by a fixed
/// stride. Operands that share their memory share the pointer.
struct Walk {
  unsigned pointer;
  int64_t stride;
  SmallVector<int64_t> displacements;
  Type element;
};
} // namespace

static Walk walkLhs(const Product &p, unsigned pointer, int64_t rows) {
  Walk walk{pointer, 1, {}, p.lhs.element};
  int64_t panel = p.lhs.panelWidth;
  if (p.lhsTransposed)
    walk.stride = panel ? panel : p.lhs.rowStride;
  for (int64_t r = 0; r < rows; ++r) {
    if (!p.lhsTransposed)
      walk.displacements.push_back(r * p.lhs.rowStride);
    else if (panel && rows > panel) // Such tiles start at whole panels.
      walk.displacements.push_back(r / panel * panel * p.lhs.panelRows + r % panel);
    else
      walk.displacements.push_back(r);
  }
  return walk;
}

static bool sameMemory(const Storage &a, const Storage &b) {
  return a.base == b.base && a.offset.dynamic == b.offset.dynamic &&
         a.offset.constant == b.offset.constant && a.rowStride == b.rowStride;
}

Vectors KernelLowering::multiply(ArrayRef<Product> products, const RegisterTile &tile,
                                 Vectors sums) {
  int64_t rows = tile.rows, vectors = tile.vectors;
  SmallVector<Walk> lhs, rhs;
  Vectors pointers;
  SmallVector<int64_t> strides; // of the pointers
  SmallVector<Type> elements;
  auto add = [&](Walk &walk, Value start) {
    walk.pointer = pointers.size();
    pointers.push_back(start);
    strides.push_back(walk.stride);
    elements.push_back(walk.element);
  };
  for (auto [i, p] : llvm::enumerate(products)) {
    Offset row = p.lhsTransposed ? address(p.lhs, 0, tile.row) : address(p.lhs, tile.row, 0);
    lhs.push_back(walkLhs(p, 0, rows));
    add(lhs.back(), e.pointer(p.lhs.base, row, p.lhs.element));
    unsigned shared = 0;
    while (shared < i && !sameMemory(products[shared].rhs, p.rhs))
      ++shared;
    if (shared < i) {
      rhs.push_back(rhs[shared]);
      continue;
    }
    Walk walk{0, p.rhs.rowStride, {}, p.rhs.element};
    for (int64_t v = 0; v < vectors; ++v)
      walk.displacements.push_back(v * e.width());
    add(walk, e.pointer(p.rhs.base, address(p.rhs, 0, tile.column), p.rhs.element));
    rhs.push_back(walk);
  }

  // Term k behind the pointers, for rows [firstRow, rows).
  auto term = [&](ValueRange at, int64_t k, Vectors sums, int64_t firstRow) {
    DenseMap<unsigned, Vectors> loaded; // by pointer
    for (Walk &walk : rhs) {
      Vectors &b = loaded[walk.pointer];
      if (b.empty())
        for (int64_t displacement : walk.displacements)
          b.push_back(e.loadVector(walk.element, at[walk.pointer], k * walk.stride + displacement));
    }
    for (int64_t r = firstRow; r < rows; ++r)
      for (size_t p = 0; p < products.size(); ++p) {
        const Walk &walk = lhs[p];
        Value a = e.broadcast(
            e.load(walk.element, at[walk.pointer], k * walk.stride + walk.displacements[r]));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[(p * rows + r) * vectors + v];
          sum = e.fma(a, loaded[rhs[p].pointer][v], sum);
        }
      }
    return sums;
  };
  // Loops carry the sums and, behind them, the pointers.
  size_t numSums = sums.size();
  auto sumsOf = [&](ValueRange carried) { return Vectors(carried.take_front(numSums)); };
  size_t numPointers = pointers.size();
  auto pointersOf = [&](ValueRange carried) { return carried.slice(numSums, numPointers); };
  auto advance = [&](Vectors sums, ValueRange at, int64_t terms) {
    for (auto [pointer, stride, element] : llvm::zip(at, strides, elements))
      sums.push_back(e.pointer(pointer, terms * stride, element));
    return sums;
  };

  const Product &first = products.front();
  Offset end = first.bound ? *first.bound : Offset(first.depth);
  // Several terms at a time: the loop's own instructions would take issue slots from products.
  constexpr int64_t unroll = 4;
  int64_t turns = first.depth / unroll;
  // Behind the pointers of the operands are those of what is fetched meanwhile.
  SmallVector<Stream> streams = beginStreams(turns);
  auto several = [&](Offset, ValueRange carried) {
    Vectors next = sumsOf(carried);
    for (int64_t i = 0; i < unroll; ++i)
      next = term(pointersOf(carried), i, next, 0);
    next = advance(next, pointersOf(carried), unroll);
    for (auto [stream, line] : llvm::zip(streams, carried.take_back(streams.size()))) {
      fetchLine(line, stream.written);
      next.push_back(e.pointer(line, stream.stride, stream.element));
    }
    return next;
  };
  auto one = [&](Offset, ValueRange carried) {
    Vectors next = term(pointersOf(carried), 0, sumsOf(carried), 0);
    return advance(next, pointersOf(carried), 1);
  };
  Vectors carried = sums;
  carried.append(pointers);
  for (const Stream &stream : streams)
    carried.push_back(stream.pointer);
  auto terms = [&](Offset to, bool isMultiple) {
    Offset whole = to;
    if (to.isStatic())
      whole = to.constant / unroll * unroll;
    else if (!isMultiple)
      whole = Offset(arith::AndIOp::create(e, e.value(to), e.value(-unroll)));
    carried = e.loop(0, whole, unroll, carried, several);
    carried.truncate(numSums + numPointers);
    carried = e.loop(whole, to, 1, carried, one);
  };
  if (!first.lowerLhs) {
    terms(end, false);
    return sumsOf(carried);
  }

  // Row i of a triangle ends with term i: all rows up to the tile's first, then one row less for
  // each term. Entries above the diagonal are not read, so that nothing leaks from there.
  terms(e.min(tile.row, end), !first.bound && rows % unroll == 0);
  if (!first.bound) {
    sums = sumsOf(carried);
    for (int64_t r = 0; r < rows; ++r)
      sums = term(pointersOf(carried), r, sums, r);
    return sums;
  }
  carried = e.loop(tile.row, e.max(tile.row, e.min(e.add(tile.row, rows), end)), 1, carried,
                   [&](Offset k, ValueRange carried) {
                     Vectors next = term(pointersOf(carried), 0, sumsOf(carried), 0);
                     Value number = e.value(e.sub(k, tile.row));
                     for (size_t i = 0; i < next.size(); ++i) {
                       int64_t row = int64_t(i) / vectors % rows;
                       Value reached = arith::CmpIOp::create(e, arith::CmpIPredicate::sle, number,
                                                             e.value(row));
                       next[i] = e.select(reached, next[i], carried[i]);
                     }
                     return advance(next, pointersOf(carried), 1);
                   });
  return sumsOf(carried);
}

//===----------------------------------------------------------------------===//
// Accumulate
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerAccumulate(AccumulateOp op) {
  TileType lhsType = op.getLhs().getType(), rhsType = op.getRhs().getType();
  int64_t rows = lhsType.getRows(), columns = rhsType.getColumns();
  Storage buffer = slice(storageOf(op.getBuffer()), scalar(op.getRow()), 0,
                         TileType::f32(op.getContext(), rows, columns));
  Product p;
  p.rhs = storageOf(op.getRhs());
  p.depth = rhsType.getRows();
  if (op.getBound())
    p.bound = e.max(e.min(scalar(op.getBound()), p.depth), 0);
  Value factor;
  if (op.getFactor()) {
    factor = loadElement(storageOf(op.getFactor()), 0, 0);
  }
  if (columns == 1 && rows > 1) {
    if (factor)
      e.loop(0, rows, 1, [&](Offset row) {
        Value scaled = arith::MulFOp::create(e, loadElement(buffer, row, 0), factor);
        e.store(scaled, buffer.base, address(buffer, row, 0));
      });
    addColumnProduct(storageOf(op.getLhs()), p.rhs, p.depth, p.bound, false, buffer);
    return success();
  }
  if (factor)
    factor = e.broadcast(factor);
  bool exact = columns == 1; // A single number among others of a column.
  bool strips = fusion.isDeferred(op.getLhs());
  TileShape shape = chooseShape(1, p.depth, strips ? Fusion::kStripRows : rows, e.vectors(columns));
  shape.rowsOutside = fitsL1(rhsType);
  takeWindows(op, shape, rows, columns);
  auto update = [&](Offset firstRow, int64_t count) {
    forEachTile(count, columns, shape, exact, [&](RegisterTile tile) {
      RegisterTile place = tile;
      place.row = e.add(firstRow, tile.row);
      beginFetch(place);
      TileType type = TileType::f32(op.getContext(), rows, columns);
      Vectors sums = loadTile(buffer, type, type, place);
      if (factor)
        for (Value &sum : sums)
          sum = arith::MulFOp::create(e, sum, factor);
      storeTile(buffer, place, multiply(p, tile, sums));
    });
  };
  if (!strips) {
    p.lhs = storageOf(op.getLhs());
    update(0, rows);
    return success();
  }
  // Produce a strip of rows and use it at once, while it is in L1.
  constexpr int64_t strip = Fusion::kStripRows;
  p.lhs = allocate(strip, lhsType.getColumns(), lhsType.getElementType());
  SmallVector<DotOp> dots;
  collectDots(op.getLhs(), dots);
  TileShape production = chooseShape(dots, strip, e.vectors(lhsType.getColumns()));
  e.loop(0, rows, strip, [&](Offset row) {
    forEachTile(strip, lhsType.getColumns(), production, /*exact=*/false, [&](RegisterTile tile) {
      RegisterTile source = tile;
      source.row = e.add(row, tile.row);
      storeTile(p.lhs, tile, evaluateTile(op.getLhs(), source));
    });
    update(row, strip);
  });
  scratch.free(p.lhs.offset.constant * (lhsType.getElementType().getIntOrFloatBitWidth() / 8));
  return success();
}

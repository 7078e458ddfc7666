//===- Triangle.cpp - products with a triangle ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row i of a product with a lower triangle sums its first i + 1 terms, with an upper one those from
// i on. Tensor cores sum all terms of a fragment, those outside of the triangle times zero, which
// is NaN where a term is NaN or infinite: a bad value would reach rows that do not sum it. So terms
// that no row of a warp sums are not multiplied, and of those that only some of its rows sum bad
// ones are left out, which costs a few bit operations on registers that are there anyway. Where a
// warp has seen one, it adds it to the rows that sum it, element by element. The other rows have
// the bits that they have without it.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "ThreadElements.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// The exponents of one f32, and of two bf16. All of its bits are set in what is NaN or infinite.
static constexpr int32_t kExponent = 0x7f800000, kExponents = 0x7f807f80;
/// Added to an exponent, it carries into the sign where all bits are set.
static constexpr int32_t kCarry = 0x00800000, kCarries = 0x00800080;
static constexpr int32_t kSign = int32_t(0x80000000), kSigns = int32_t(0x80008000);

Values KernelLowering::multiplyTriangle(ArrayRef<Product> products, const WarpTile &warpTile,
                                        Values accumulators, AddTerms addTerms) {
  int64_t step = residency.operandKind() == warp::OperandKind::TF32 ? 8 : 16;
  int64_t rows = 16 * warpTile.rowTiles;
  RowTiles allTiles{0, warpTile.rowTiles};
  // The number of the warp's first row is a multiple of that of its rows.
  Value row = e.orZero(warpTile.row);
  // Adds `count` terms in each iteration.
  auto addInLoop = [&](Value begin, Value end, int64_t count, Value *badTerms) {
    Values carried = accumulators;
    if (badTerms)
      carried.push_back(*badTerms);
    auto loop = scf::ForOp::create(e, begin, end, e.i32(count), carried);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    Value term = warp::OpaqueOp::create(e, loop.getInductionVar());
    Values sums(loop.getRegionIterArgs());
    Value seen = badTerms ? sums.pop_back_val() : Value();
    for (int64_t offset = 0; offset < count; offset += step)
      sums = addTerms(e.add(term, offset), sums, allTiles, badTerms ? &seen : nullptr);
    if (badTerms)
      sums.push_back(seen);
    scf::YieldOp::create(e, sums);
    accumulators = Values(loop.getResults());
    if (badTerms)
      *badTerms = accumulators.pop_back_val();
  };
  Value badTerms = e.i32(0);
  if (products.front().lhsTriangle == Triangle::Lower) {
    if (!isConstantIntValue(row, 0))
      addInLoop(e.i32(0), row, rows, nullptr); // what all rows of the warp have
    for (int64_t offset = 0; offset < rows; offset += step)
      accumulators =
          addTerms(e.add(row, offset), accumulators, {offset / 16, warpTile.rowTiles}, &badTerms);
  } else {
    // Unrolled, as above, the diagonal makes kernels of gradients spill registers.
    int64_t all = roundUp(products.front().terms, 16);
    Value end = e.add(row, rows);
    if (all > rows)
      addInLoop(end, e.i32(all), step, nullptr);
    addInLoop(row, end, step, &badTerms);
  }
  return Values(e.when(hasBadTerms(badTerms), accumulators,
                       [&] { return addBadTerms(products, warpTile, accumulators); }));
}

/// The second number of a split infinite factor is NaN, and is masked with the first one.
void KernelLowering::leaveBadTerms(Fragments &fragments, Value &seen) {
  bool wide = residency.operandKind() == warp::OperandKind::TF32;
  auto carriesOf = [&](Value word) -> Value {
    Value exponents = arith::AndIOp::create(e, word, e.i32(wide ? kExponent : kExponents));
    Value carries = arith::AddIOp::create(e, exponents, e.i32(wide ? kCarry : kCarries));
    seen = arith::OrIOp::create(e, seen, carries);
    return carries;
  };
  if (wide) {
    for (auto [i, words] : llvm::enumerate(fragments.high))
      for (auto [j, word] : llvm::enumerate(words)) {
        Value isBad = e.less(carriesOf(word), 0);
        word = e.select(isBad, e.i32(0), word);
        if (!fragments.low[i].empty())
          fragments.low[i][j] = e.select(isBad, e.i32(0), fragments.low[i][j]);
      }
    return;
  }
  for (auto [i, words] : llvm::enumerate(fragments.high))
    for (auto [j, word] : llvm::enumerate(words)) {
      Value signs = arith::AndIOp::create(e, carriesOf(word), e.i32(kSigns));
      Value halves = arith::ShRUIOp::create(e, signs, e.i32(15));
      Value bad = arith::MulIOp::create(e, halves, e.i32(0xffff));
      Value others = arith::XOrIOp::create(e, bad, e.i32(-1));
      word = arith::AndIOp::create(e, word, others);
      if (!fragments.low[i].empty())
        fragments.low[i][j] = arith::AndIOp::create(e, fragments.low[i][j], others);
    }
}

Value KernelLowering::hasBadTerms(Value seen) {
  bool wide = residency.operandKind() == warp::OperandKind::TF32;
  Value signs = arith::AndIOp::create(e, seen, e.i32(wide ? kSign : kSigns));
  Value mine = arith::CmpIOp::create(e, arith::CmpIPredicate::ne, signs, e.i32(0));
  return warp::AnyOp::create(e, mine);
}

Value KernelLowering::isBadTerm(Value term) {
  // Rounded as in the product.
  bool wide = residency.operandKind() == warp::OperandKind::TF32;
  Value word = wide ? e.bits(warp::RoundTf32Op::create(e, term))
                    : warp::PackOp::create(e, warp::OperandKind::BF16, e.f32(0), term);
  Value exponent = arith::AndIOp::create(e, word, e.i32(kExponent));
  return arith::CmpIOp::create(e, arith::CmpIPredicate::eq, exponent, e.i32(kExponent));
}

Values KernelLowering::addBadTerms(ArrayRef<Product> products, const WarpTile &warpTile,
                                   Values accumulators) {
  const Product &first = products.front();
  Value begin = e.orZero(warpTile.row), end = e.add(begin, 16 * warpTile.rowTiles);
  end = e.createOrFold<arith::MinSIOp>(end, first.bound ? first.bound : e.i32(first.terms));
  auto loop = scf::ForOp::create(e, begin, end, e.i32(1), accumulators);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  Value term = loop.getInductionVar();
  ThreadElements owned = elementsOfAccumulators(e, warpTile, lane);
  SmallVector<Values> weights;
  for (const Product &product : products) {
    ThreadElements left;
    (product.lhsTransposed ? left.columns : left.rows) = owned.rows;
    (product.lhsTransposed ? left.rows : left.columns).base = term;
    weights.push_back(evaluate(product.lhs, left));
  }
  Values isLeftOut;
  for (int64_t offset : owned.rows.offsets)
    isLeftOut.push_back(isOutside(first.lhsTriangle, e.add(owned.rows.base, offset), term));
  Values added(loop.getRegionIterArgs());
  // One column after another: few registers wait.
  int64_t columns = owned.columns.size();
  for (int64_t column = 0; column < columns; ++column) {
    ThreadElements right;
    right.rows.base = term;
    right.columns.base = e.add(owned.columns.base, owned.columns.offsets[column]);
    Value value = evaluate(first.rhs, right)[0], isBad = isBadTerm(value);
    for (size_t p = 0; p < products.size(); ++p)
      for (int64_t row = 0; row < owned.rows.size(); ++row) {
        Value &sum = added[(p * owned.rows.size() + row) * columns + column];
        Value more = arith::MulFOp::create(e, weights[p][row], value);
        more = arith::AddFOp::create(e, sum, more);
        sum = e.select(isBad, e.select(isLeftOut[row], sum, more), sum);
      }
  }
  scf::YieldOp::create(e, added);
  return Values(loop.getResults());
}

//===- CumulativeSum.cpp - running sums of a vector -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scan by the lanes of one warp: each sums a run of neighbours, then the lanes before it are
// added in five steps. Sums are of two f32, so that no digit is lost on the way.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

namespace {
/// high + low, where low is what rounding took from high.
struct HighLow {
  Value high, low;
};
} // namespace

/// The rounding error of the sum of the high parts is exact, whichever is larger.
static HighLow add(Emitter &e, const HighLow &a, const HighLow &b) {
  auto plus = [&](Value x, Value y) -> Value { return arith::AddFOp::create(e, x, y); };
  auto minus = [&](Value x, Value y) -> Value { return arith::SubFOp::create(e, x, y); };
  Value sum = plus(a.high, b.high);
  Value ofB = minus(sum, a.high), ofA = minus(sum, ofB);
  Value lost = plus(minus(a.high, ofA), minus(b.high, ofB));
  return {sum, plus(plus(a.low, b.low), lost)};
}

static HighLow select(Emitter &e, Value condition, const HighLow &a, const HighLow &b) {
  return {e.select(condition, a.high, b.high), e.select(condition, a.low, b.low)};
}

/// What the lane `distance` before this one has.
static HighLow shuffleUp(Emitter &e, const HighLow &x, int64_t distance) {
  auto from = [&](Value value) -> Value {
    return warp::ShuffleOp::create(e, warp::ShuffleMode::Up, value, e.i32(distance));
  };
  return {from(x.high), from(x.low)};
}

void KernelLowering::lowerCumulativeSum(CumulativeSumOp sum) {
  constexpr int64_t lanes = GPUDescription::warpSize;
  int64_t length = sum.getInput().getType().getColumns();
  HighLow zero{e.f32(0), e.f32(0)};
  beginPhase();
  TileMemory high = allocateFor(sum.getHigh()), low = allocateFor(sum.getLow());
  int64_t run = (high.columns + lanes - 1) / lanes;
  e.when(options.warps > 1 ? e.less(warp, 1) : Value(), [&] {
    Value first = e.multiply(lane, run);
    SmallVector<HighLow> sums;
    for (int64_t i = 0; i < run; ++i) {
      Value index = e.add(first, i), inside = e.less(index, length);
      Value last = e.i32(length - 1);
      Value element = evaluateAt(sum.getInput(), {}, e.createOrFold<arith::MinSIOp>(index, last));
      HighLow own{e.select(inside, element, zero.high), zero.low};
      sums.push_back(i ? add(e, sums.back(), own) : own);
    }
    HighLow total = sums.back();
    for (int64_t distance = 1; distance < lanes; distance *= 2)
      total =
          select(e, e.less(lane, distance), total, add(e, shuffleUp(e, total, distance), total));
    HighLow before = select(e, e.less(lane, 1), zero, shuffleUp(e, total, 1));
    for (int64_t i = 0; i < run; ++i) {
      HighLow own = add(e, before, sums[i]);
      Value rounded = arith::AddFOp::create(e, own.high, own.low);
      Value rest = arith::SubFOp::create(e, own.low, arith::SubFOp::create(e, rounded, own.high));
      ThreadElements owned;
      owned.columns.base = e.add(first, i);
      Value inside = e.less(owned.columns.base, length);
      Value exists =
          high.columns < run * lanes ? e.less(owned.columns.base, high.columns) : Value();
      e.when(exists, [&] {
        for (auto [storage, value] : {std::pair(high, rounded), std::pair(low, rest)}) {
          recordWrite(storage, owned);
          storeElements(storage, owned, e.select(inside, value, zero.high));
        }
      });
    }
  });
  computed.insert(sum.getHigh());
  computed.insert(sum.getLow());
}

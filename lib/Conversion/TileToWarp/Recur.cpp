//===- Recur.cpp - one step of a recurrence, where its state lies ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step moves its state through the multiprocessor once, and does little else: what counts is how
// many bytes are on their way. Each thread has 16 bytes of a row and every so many rows of it,
// loads some of these before it stores the first, and keeps what the query has of its columns.
// These sums are added up over the threads at the end, always in one order.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "ThreadElements.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// Rows whose loads a thread has on their way at once.
static constexpr int64_t kRowsAtOnce = 8;

namespace {
/// Which part of a state a thread has: thread t the `run` columns from run (t % pieces) on, in the
/// rows t / pieces, t / pieces + groups, ...
struct StateLayout {
  int64_t rows, columns;
  int64_t run = 1;    // columns of a thread
  int64_t pieces = 1; // a power of two: those behind the last column are nobody's
  int64_t groups = 1; // of threads, each with rows of its own
  int64_t passes = 1; // several, where a row has more pieces than there are threads

  StateLayout(int64_t rows, int64_t columns, int64_t elementBytes, int64_t threads)
      : rows(rows), columns(columns) {
    run = std::gcd<int64_t>(columns, 16 / elementBytes);
    int64_t needed = columns / run;
    pieces = std::min<int64_t>(llvm::PowerOf2Ceil(needed), threads);
    groups = threads / pieces;
    passes = llvm::divideCeil(needed, pieces);
  }
  bool isWhole() const { return pieces * passes * run == columns; }
  /// Groups in one warp, whose sums lanes exchange.
  int64_t groupsPerWarp() const { return std::max<int64_t>(GPUDescription::warpSize / pieces, 1); }
  /// Sums of each column that warps have then.
  int64_t parts() const { return groups / groupsPerWarp(); }
};
} // namespace

/// `count` elements of a row vector.
static ThreadElements columnsFrom(Value first, int64_t count) {
  ThreadElements owned;
  owned.columns = consecutive(first, count);
  return owned;
}

/// A thread's way through its part of the state.
struct KernelLowering::StateWalk {
  KernelLowering &kernel;
  RecurOp recur;
  const Tensor &tensor;
  const StateLayout &layout;
  Value start, rowBytes;         // i64, of the state in its tensor
  Value factor;                  // f32, of all rows; null without, or where each has one
  Value column = {}, group = {}; // i32, the thread's first column and first row
  Emitter &e = kernel.e;

  /// What the query has of these columns. Elements are loaded and stored `width` at a time.
  Values run(int64_t width);

  /// Whether each row has a factor of its own.
  bool hasFactors() { return recur.getFactor() && recur.getFactor().getType().getColumns() > 1; }

private:
  int64_t bytes() const { return tensor.element.getIntOrFloatBitWidth() / 8; }
  Value addressOf(Value row, int64_t i);
  Values load(Value row, int64_t width);
  Values store(Value row, ValueRange state, int64_t width);
  void addTo(Values &sums, Value weight, ValueRange state);
  Values step(Value row, Values state, ValueRange values, Values sums, int64_t width);
  Values stepRows(int64_t begin, int64_t end, int64_t count, ValueRange values, Values sums,
                  int64_t width);
};

/// The byte offset (i64) of the thread's i-th element of a state row.
Value KernelLowering::StateWalk::addressOf(Value row, int64_t i) {
  Value inRow = arith::MulIOp::create(e, e.toI64(column), e.i64(bytes()));
  Value distance = arith::MulIOp::create(e, e.toI64(row), rowBytes);
  Value address = arith::AddIOp::create(e, arith::AddIOp::create(e, start, inRow), distance);
  return e.createOrFold<arith::AddIOp>(address, e.i64(i * bytes()));
}

Values KernelLowering::StateWalk::load(Value row, int64_t width) {
  Values state;
  for (int64_t i = 0; i < layout.run; i += width)
    e.unpack(warp::LoadGlobalOp::create(e, e.runType(tensor.element, width), tensor.base,
                                        addressOf(row, i), /*read_only=*/false),
             state);
  return state;
}

/// Returns the elements as the tensor has them then.
Values KernelLowering::StateWalk::store(Value row, ValueRange state, int64_t width) {
  Values stored;
  for (int64_t i = 0; i < layout.run; i += width) {
    Value word = e.pack(tensor.element, state.slice(i, width));
    warp::StoreGlobalOp::create(e, word, tensor.base, addressOf(row, i));
    e.unpack(word, stored);
  }
  return stored;
}

void KernelLowering::StateWalk::addTo(Values &sums, Value weight, ValueRange state) {
  for (auto [sum, number] : llvm::zip(sums, state))
    sum = math::FmaOp::create(e, weight, number, sum);
}

/// One row: what becomes of it, and what the query has of it then, or had before.
Values KernelLowering::StateWalk::step(Value row, Values state, ValueRange values, Values sums,
                                       int64_t width) {
  Value query = kernel.evaluate(recur.getQuery(), columnsFrom(row, 1))[0];
  if (recur.getBefore())
    addTo(sums, query, state);
  if (recur.getKey()) {
    Value key = kernel.evaluate(recur.getKey(), columnsFrom(row, 1))[0];
    Value own = hasFactors() ? kernel.evaluate(recur.getFactor(), columnsFrom(row, 1))[0] : factor;
    for (auto [number, value] : llvm::zip(state, values)) {
      if (own)
        number = arith::MulFOp::create(e, number, own);
      number = math::FmaOp::create(e, key, value, number);
    }
    state = store(row, state, width);
  }
  if (!recur.getBefore())
    addTo(sums, query, state);
  return sums;
}

/// The thread's rows of these numbers, `count` of which are on their way at once.
Values KernelLowering::StateWalk::stepRows(int64_t begin, int64_t end, int64_t count,
                                           ValueRange values, Values sums, int64_t width) {
  if (begin == end)
    return sums;
  auto loop = scf::ForOp::create(e, e.i32(begin), e.i32(end), e.i32(count), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  SmallVector<std::pair<Value, Values>> rows;
  for (int64_t i = 0; i < count; ++i) {
    Value number = e.add(loop.getInductionVar(), i);
    Value row = e.add(e.multiply(number, layout.groups), group);
    rows.push_back({row, load(row, width)});
  }
  Values next(loop.getRegionIterArgs());
  for (auto &[row, state] : rows)
    next = step(row, state, values, next, width);
  scf::YieldOp::create(e, next);
  return Values(loop.getResults());
}

Values KernelLowering::StateWalk::run(int64_t width) {
  Values values, sums(layout.run, e.f32(0));
  if (recur.getKey())
    values = kernel.evaluate(recur.getValue(), columnsFrom(column, layout.run));
  int64_t whole = layout.rows / layout.groups, rest = layout.rows % layout.groups;
  int64_t many = whole / kRowsAtOnce * kRowsAtOnce;
  sums = stepRows(0, many, kRowsAtOnce, values, sums, width);
  sums = stepRows(many, whole, 1, values, sums, width);
  if (!rest)
    return sums;
  Value row = e.add(group, whole * layout.groups);
  return Values(e.when(e.less(group, rest), sums,
                       [&] { return step(row, load(row, width), values, sums, width); }));
}

void KernelLowering::lowerRecur(RecurOp recur) {
  const Tensor &tensor = tensors[recur.getMemref()];
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8, lanes = GPUDescription::warpSize;
  int64_t last = int64_t(tensor.strides.size()) - 1;
  const StateLayout layout(recur.getQuery().getType().getColumns(),
                           recur.getResult().getType().getColumns(), bytes, lanes * options.warps);
  beginPhase();
  recordTensor(recur.getMemref(), /*isWrite=*/false);
  if (recur.getKey())
    recordTensor(recur.getMemref(), /*isWrite=*/true);
  TileMemory sumsOfParts = allocate(
      TileMemory::of(1, layout.parts() * layout.columns, e.getF32Type(), /*columnMajor=*/false));
  StateWalk walk{*this,
                 recur,
                 tensor,
                 layout,
                 tensorOffset(tensor, recur.getIndices()),
                 e.createOrFold<arith::MulIOp>(tensor.strides[last - 1], e.i64(bytes)),
                 Value()};
  if (recur.getFactor() && !walk.hasFactors())
    walk.factor = evaluateAt(recur.getFactor(), {}, {});
  bool mayBeAligned =
      layout.run > 1 && tensor.aligned && knownDivisor(recur.getIndices()[last]) % layout.run == 0;
  Values zeros(layout.run, e.f32(0));
  auto walkRows = [&]() -> Values {
    if (!mayBeAligned)
      return walk.run(/*width=*/1);
    auto branch = scf::IfOp::create(e, ValueRange(zeros).getTypes(), tensor.aligned,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(e, walk.run(layout.run));
    e.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(e, walk.run(/*width=*/1));
    return Values(branch.getResults());
  };
  e.loop(layout.passes, [&](Value pass) {
    Value piece = e.add(e.modulo(thread, layout.pieces), e.multiply(pass, layout.pieces));
    walk.column = e.multiply(piece, layout.run);
    walk.group = layout.groups > 1 ? e.divide(thread, layout.pieces) : Value();
    Value isInside = layout.isWhole() ? Value() : e.less(walk.column, layout.columns);
    Values sums = isInside ? Values(e.when(isInside, zeros, walkRows)) : walkRows();
    for (int64_t distance = layout.pieces; distance < lanes; distance *= 2)
      for (Value &sum : sums) {
        Value other = warp::ShuffleOp::create(e, warp::ShuffleMode::Xor, sum, e.i32(distance));
        sum = arith::AddFOp::create(e, sum, other);
      }
    Value part = layout.parts() > 1 ? e.divide(walk.group, layout.groupsPerWarp()) : Value();
    Value writes = layout.pieces < lanes ? e.less(lane, layout.pieces) : Value();
    recordWrite(sumsOfParts, ThreadElements());
    e.when(e.both(isInside, writes), [&] {
      Value first = e.add(walk.column, e.multiply(part, layout.columns));
      storeElements(sumsOfParts, columnsFrom(first, layout.run), sums);
    });
  });

  beginPhase();
  Reduction ofParts;
  ofParts.length = layout.parts();
  ofParts.alongLines = false;
  ofParts.terms = [&](Value column, const Coordinates &part) {
    Value place = e.add(column, e.multiply(part.base, layout.columns));
    return loadElements(sumsOfParts, columnsFrom(place, 1));
  };
  reduceInto(recur.getResult(), ofParts, [&](Value column, Value sum) -> Value {
    if (!recur.getAcc())
      return sum;
    return arith::AddFOp::create(e, evaluateAt(recur.getAcc(), {}, column), sum);
  });
  (sumsOfParts.space == Space::Shared ? shared : workspace).free(sumsOfParts.offset);
}

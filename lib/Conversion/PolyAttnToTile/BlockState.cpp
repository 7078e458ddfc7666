//===- BlockState.cpp - what a sweep has gathered so far ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockState.h"
#include "dialects/PolyAttn/Factors.h"

using namespace mlir;
using namespace polyattn;

//===----------------------------------------------------------------------===//
// States in tensors
//===----------------------------------------------------------------------===//

static SmallVector<Value> with(ArrayRef<Value> indices, ArrayRef<Value> others) {
  SmallVector<Value> all(indices);
  llvm::append_range(all, others);
  return all;
}

StoredState StoredState::sumOf(ArrayRef<Value> rows, ArrayRef<Value> normalizers,
                               const SmallVector<Value, 4> &at, bool isTransposed) {
  StoredState sum{rows.front(), normalizers.empty() ? Value() : normalizers.front(), at,
                  isTransposed};
  for (Value tensor : rows.drop_front())
    sum.plus.push_back({tensor, Value(), at, isTransposed});
  for (Value tensor : normalizers.drop_front(normalizers.empty() ? 0 : 1))
    sum.plus.push_back({Value(), tensor, at, isTransposed});
  return sum;
}

bool StoredState::isColumn() const {
  return cast<MemRefType>(rows.getType()).getRank() == int64_t(at.size()) + 1;
}

Value StoredState::loadOwnRows(TileBuilder &b, Value first, int64_t count, int64_t width) const {
  int64_t dim = at.size();
  auto load = [&](ArrayRef<Value> indices, int64_t rowDim, int64_t colDim) -> Value {
    return tile::LoadOp::create(b, b.tileType(count, width), rows, with(at, indices), Value(),
                                rowDim, colDim, isTransposed && colDim == dim + 1);
  };
  if (isColumn()) // [D] of one value, or, transposed, the values of the one feature
    return isTransposed ? load(b.index(0), -1, dim) : load(first, dim, -1);
  if (isTransposed)
    return load({b.index(0), first}, dim, dim + 1);
  return load({first, b.index(0)}, dim, dim + 1);
}

Value StoredState::loadRows(TileBuilder &b, Value first, int64_t count, int64_t width) const {
  Value sum = loadOwnRows(b, first, count, width);
  for (const StoredState &other : plus)
    if (other.rows)
      sum = b.add(sum, other.loadRows(b, first, count, width));
  return sum;
}

Value StoredState::loadNormalizer(TileBuilder &b, Value first, int64_t count) const {
  Value sum = tile::LoadOp::create(b, b.tileType(count, 1), normalizer, with(at, first), Value(),
                                   /*row_dim=*/at.size(), /*col_dim=*/-1, /*transposed=*/false);
  for (const StoredState &other : plus)
    if (other.normalizer)
      sum = b.add(sum, other.loadNormalizer(b, first, count));
  return sum;
}

void StoredState::storeRows(TileBuilder &b, Value tile, Value first) const {
  assert(!isTransposed && "states are written as they are");
  int64_t dim = at.size();
  if (isColumn())
    tile::StoreOp::create(b, tile, rows, with(at, first), Value(), dim, /*col_dim=*/-1);
  else
    tile::StoreOp::create(b, tile, rows, with(at, {first, b.index(0)}), Value(), dim, dim + 1);
}

void StoredState::storeNormalizer(TileBuilder &b, Value tile, Value first) const {
  tile::StoreOp::create(b, tile, normalizer, with(at, first), Value(), /*row_dim=*/at.size(),
                        /*col_dim=*/-1);
}

StoredState SegmentStates::of(Value segment) const {
  return {states, normalizers, {segment, batch, head}, /*isTransposed=*/false};
}

bool SegmentStates::haveDecaysOfFeatures() const {
  return cast<MemRefType>(decays.getType()).getRank() == 4;
}

Value SegmentStates::loadDecay(TileBuilder &b, Value segment, Value first, int64_t count) const {
  if (haveDecaysOfFeatures())
    return tile::LoadOp::create(b, b.tileType(count, 1), decays,
                                ValueRange{segment, batch, head, first}, Value(), /*row_dim=*/3,
                                /*col_dim=*/-1, /*transposed=*/false);
  return tile::LoadOp::create(b, b.tileType(1, 1), decays, ValueRange{segment, batch, head},
                              Value(), -1, -1, /*transposed=*/false);
}

void SegmentStates::storeDecay(TileBuilder &b, Value decay, Value segment, Value first) const {
  if (haveDecaysOfFeatures())
    tile::StoreOp::create(b, decay, decays, ValueRange{segment, batch, head, first}, Value(),
                          /*row_dim=*/3, /*col_dim=*/-1);
  else
    tile::StoreOp::create(b, decay, decays, ValueRange{segment, batch, head}, Value(), -1, -1);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void BlockState::makeBuffers(TileBuilder &b) {
  auto make = [&](int64_t columns) -> Value {
    int64_t count = share->rows(shape.range.features);
    auto type = tile::BufferType::get(b.getContext(), count, columns);
    return tile::BufferOp::create(b, type, /*persistent=*/share->keepsState());
  };
  if (shape.width)
    rows = make(shape.width);
  if (shape.hasNormalizer)
    normalizer = make(1);
}

Value BlockState::rowOf(TileBuilder &b, Value feature) const {
  return share->rowOf(b, feature, shape.range.features);
}

Value BlockState::readRows(TileBuilder &b, Value row, int64_t count) const {
  if (stored)
    return stored->loadRows(b, row, count, shape.width);
  return tile::ReadOp::create(b, b.tileType(count, shape.width), rows, row);
}

Value BlockState::readNormalizer(TileBuilder &b, Value row, int64_t count) const {
  if (stored)
    return stored->loadNormalizer(b, row, count);
  return tile::ReadOp::create(b, b.tileType(count, 1), normalizer, row);
}

/// Rows times the weights of features from `first` on. Weights beyond the range of f32, which keys
/// may have where those of queries make up for them, are multiplied in two halves.
static Value timesWeights(TileBuilder &b, Value tile, ArrayRef<double> weights, Value first) {
  auto times = [&](Value rows, ArrayRef<double> column) {
    return b.mul(rows, b.slice(b.column(column), first, b.typeOf(rows).getRows()));
  };
  if (llvm::all_of(weights, isRepresentable))
    return times(tile, weights);
  SmallVector<double> halves, others;
  for (double weight : weights) {
    int exponent = 0;
    double digits = std::frexp(weight, &exponent);
    halves.push_back(std::ldexp(digits, exponent / 2));
    others.push_back(std::ldexp(1.0, exponent - exponent / 2));
  }
  return times(times(tile, halves), others);
}

void BlockState::fill(TileBuilder &b, const StoredState *given, const SegmentsBehind *behind) {
  std::vector<double> inverse;
  inverse.reserve(shape.weights.size());
  for (double weight : shape.weights)
    inverse.push_back(1 / weight);
  forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    auto unweighted = [&](Value tile) {
      return inverse.empty() ? tile : timesWeights(b, tile, inverse, first);
    };
    Value tile = b.constant(count, shape.width, 0), column = b.constant(count, 1, 0);
    if (given)
      tile = unweighted(given->loadRows(b, first, count, shape.width));
    Value row = rowOf(b, first);
    if (!behind)
      tile::WriteOp::create(b, tile, rows, row);
    if (given && given->normalizer)
      column = unweighted(given->loadNormalizer(b, first, count));
    if (behind) {
      addBehind(b, *behind, first, tile, column);
      tile::WriteOp::create(b, tile, rows, row);
    }
    if (normalizer)
      tile::WriteOp::create(b, column, normalizer, row);
    return TileBuilder::Values();
  });
}

/// What was gathered, decayed by the factor if there is one, and what comes to it.
static Value decayedSum(TileBuilder &b, Value before, Value factor, Value sum) {
  if (!factor)
    return b.add(before, sum);
  return b.map({before, factor, sum}, [](ElementBuilder &e, ValueRange in) -> Value {
    return e.add(e.mul(in[0], in[1]), in[2]);
  });
}

SmallVector<Value> BlockState::gathered(TileBuilder &b, Value first, int64_t count) const {
  SmallVector<Value> tiles;
  if (rows)
    tiles.push_back(readRows(b, rowOf(b, first), count));
  if (normalizer)
    tiles.push_back(readNormalizer(b, rowOf(b, first), count));
  return tiles;
}

/// S <- exp(decay of the segment) S + the segment's state, and z likewise.
SmallVector<Value> BlockState::afterSegment(TileBuilder &b, const SegmentStates &segments,
                                            Value segment, ValueRange before, Value first) const {
  StoredState stored = segments.of(segment);
  SmallVector<Value> after;
  int64_t count = b.typeOf(before[0]).getRows();
  Value factor = segments.decays ? expOf(b, segments.loadDecay(b, segment, first, count)) : Value();
  if (shape.width)
    after.push_back(
        decayedSum(b, before[0], factor, stored.loadRows(b, first, count, shape.width)));
  if (shape.hasNormalizer)
    after.push_back(decayedSum(b, before.back(), factor, stored.loadNormalizer(b, first, count)));
  return after;
}

/// The segments are the inner loop: what is gathered stays in registers.
void BlockState::addSegments(TileBuilder &b, const SegmentStates &segments,
                             function_ref<StoredState(Value)> before, bool finishes) {
  Value tensor = segments.states ? segments.states : segments.normalizers;
  Value count = memref::DimOp::create(b, tensor, b.index(0)), one = b.index(1);
  bool forwards = shape.direction == Direction::Forwards;
  forFeatureBlocks(b, {}, [&](Value first, int64_t size, ValueRange) {
    auto store = [&](Value segment, ValueRange tiles) {
      StoredState stored = before(segment);
      if (shape.width)
        stored.storeRows(b, tiles.front(), first);
      if (shape.hasNormalizer)
        stored.storeNormalizer(b, tiles.back(), first);
    };
    // Backwards sums lie one place before their segments where the first one has none.
    auto results =
        b.loop(b.index(0), count, one, gathered(b, first, size), [&](Value i, ValueRange in) {
          Value slot = forwards ? i : b.subIndex(b.subIndex(count, one), i);
          if (before)
            store(forwards || finishes ? slot : b.addIndex(slot, one), in);
          return TileBuilder::Values(afterSegment(b, segments, slot, in, first));
        });
    if (!finishes) {
      Value exists =
          b.compare(arith::CmpIPredicate::ne,
                    memref::DimOp::create(b, before(one).tensor(), b.index(0)), b.index(0));
      b.branch(exists, [&] { store(forwards ? count : b.index(0), results); });
      return TileBuilder::Values();
    }
    Value row = rowOf(b, first);
    if (rows)
      tile::WriteOp::create(b, results.front(), rows, row);
    if (normalizer)
      tile::WriteOp::create(b, results.back(), normalizer, row);
    return TileBuilder::Values();
  });
}

/// The states of segments behind a program. They are the inner loop: what is gathered stays in
/// registers.
void BlockState::addBehind(TileBuilder &b, const SegmentsBehind &behind, Value first,
                           Value &gathered, Value &column) const {
  const SegmentStates &segments = behind.segments;
  Value last;
  if (shape.direction == Direction::Backwards) {
    Value all = memref::DimOp::create(b, segments.states, b.index(0));
    last = b.subIndex(all, b.index(1));
  }
  SmallVector<Value> carried = {gathered};
  if (normalizer)
    carried.push_back(column);
  auto results = b.loop(b.index(0), behind.count, b.index(1), carried, [&](Value i, ValueRange in) {
    return TileBuilder::Values(
        afterSegment(b, segments, last ? b.subIndex(last, i) : i, in, first));
  });
  gathered = results[0];
  if (normalizer)
    column = results[1];
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void BlockState::update(TileBuilder &b, Value features, Value others, Value weights, Value first,
                        Value valid, const BlockDecay &decay) {
  bool forwards = shape.direction == Direction::Forwards;
  Value factor;
  if (decay) {
    factor = expOf(b, decay.total(b));
    if (rows)
      others = b.mul(others, expOf(b, forwards ? decay.afterColumn(b) : decay.upToColumn(b)));
    Value passing =
        normalizer ? expOf(b, forwards ? decay.afterRow(b) : decay.upToRow(b)) : Value();
    weights = weights && passing ? b.mul(weights, passing) : passing;
  }
  if (normalizer)
    updateNormalizer(b, features, weights, factor, first, valid);
  if (rows)
    b.accumulate(features, others, rows, rowOf(b, first), valid, factor);
}

void BlockState::addDecayed(TileBuilder &b, Value features, Value others, Value weights,
                            Value first, Value valid, Value factor) {
  if (normalizer)
    updateNormalizer(b, features, weights, factor, first, valid);
  if (!rows)
    return;
  Value row = rowOf(b, first), old = readRows(b, row, b.typeOf(features).getRows());
  tile::WriteOp::create(b, b.mul(old, factor), rows, row);
  b.accumulate(features, others, rows, row, valid, /*factor=*/Value());
}

/// z <- g z + sum of the block's features, each times its position's weight.
void BlockState::updateNormalizer(TileBuilder &b, Value features, Value weights, Value factor,
                                  Value first, Value valid) {
  Value row = rowOf(b, first);
  Value old = readNormalizer(b, row, b.typeOf(features).getRows());
  if (factor)
    old = b.mul(old, factor);
  Value added = b.reduceColumns(weights ? b.mul(features, weights) : features, valid);
  tile::WriteOp::create(b, b.add(old, added), normalizer, row);
}

Value polyattn::decayOfReaders(TileBuilder &b, const BlockDecay &decay, Direction direction) {
  return direction == Direction::Forwards ? decay.upToColumn(b) : decay.afterColumn(b);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void BlockState::storeBlocks(TileBuilder &b, const Destinations &destinations,
                             function_ref<Value(Value, int64_t)> rows,
                             function_ref<Value(Value, int64_t)> normalizer) const {
  forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    for (Value tensor : destinations.states)
      StoredState{tensor, {}, destinations.at, false}.storeRows(b, rows(first, count), first);
    for (Value tensor : destinations.normalizers)
      StoredState{{}, tensor, destinations.at, false}.storeNormalizer(b, normalizer(first, count),
                                                                      first);
    return TileBuilder::Values();
  });
}

Value BlockState::weightedRows(TileBuilder &b, Value first, int64_t count) const {
  Value rows = readRows(b, rowOf(b, first), count);
  return lacksWeights() ? timesWeights(b, rows, shape.weights, first) : rows;
}

Value BlockState::weightedNormalizer(TileBuilder &b, Value first, int64_t count) const {
  Value column = readNormalizer(b, rowOf(b, first), count);
  return lacksWeights() ? timesWeights(b, column, shape.weights, first) : column;
}

void BlockState::store(TileBuilder &b, const Destinations &destinations) const {
  storeBlocks(
      b, destinations, [&](Value first, int64_t count) { return weightedRows(b, first, count); },
      [&](Value first, int64_t count) { return weightedNormalizer(b, first, count); });
}

void BlockState::storeSum(TileBuilder &b, const Destinations &destinations, Value count,
                          function_ref<StoredState(Value)> part) const {
  auto sumOf = [&](Value zeros, function_ref<Value(const StoredState &)> load) -> Value {
    return b.loop(b.index(0), count, b.index(1), zeros, [&](Value i, ValueRange in) {
      return TileBuilder::Values{b.add(in[0], load(part(i)))};
    })[0];
  };
  storeBlocks(
      b, destinations,
      [&](Value first, int64_t rows) {
        return sumOf(b.constant(rows, shape.width, 0), [&](const StoredState &stored) {
          return stored.loadRows(b, first, rows, shape.width);
        });
      },
      [&](Value first, int64_t rows) {
        return sumOf(b.constant(rows, 1, 0), [&](const StoredState &stored) {
          return stored.loadNormalizer(b, first, rows);
        });
      });
}

void BlockState::copy(TileBuilder &b, const StoredState &from, const Destinations &to) const {
  storeBlocks(
      b, to,
      [&](Value first, int64_t count) { return from.loadRows(b, first, count, shape.width); },
      [&](Value first, int64_t count) { return from.loadNormalizer(b, first, count); });
}

void BlockState::storeSegmentState(TileBuilder &b, const StoredState &stored) const {
  forFeatureBlocks(b, {}, [&](Value first, int64_t count, ValueRange) {
    Value row = rowOf(b, first);
    if (rows)
      stored.storeRows(b, readRows(b, row, count), first);
    if (normalizer)
      stored.storeNormalizer(b, readNormalizer(b, row, count), first);
    return TileBuilder::Values();
  });
}

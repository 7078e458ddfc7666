//===- FeatureShare.cpp - which features a program computes with ----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureShare.h"

using namespace mlir;
using namespace polyattn;

using Values = FeatureShare::Values;

/// Blocks of `count` features from `from` on.
static Values loop(TileBuilder &b, Value from, Value to, int64_t count, ValueRange carried,
                   FeatureShare::Body body) {
  return b.loop(from, to, b.index(count), carried,
                [&](Value first, ValueRange in) { return body(first, count, in); });
}

/// Round robin: the block of `length` positions at `position`, block b, belongs to program
/// b mod `turns`. Whether that is program `turn`.
static Value hasTurn(TileBuilder &b, Value position, int64_t length, Value turn, Value turns) {
  Value block = b.divIndex(position, b.index(length));
  return b.isEqual(arith::RemUIOp::create(b, block, turns), turn);
}

//===----------------------------------------------------------------------===//
// All features
//===----------------------------------------------------------------------===//

/// A loop over whole blocks, then what is left.
Values AllFeatures::forBlocks(TileBuilder &b, const FeatureRange &range, ValueRange carried,
                              Body body) const {
  int64_t size = range.blockSize(), whole = range.whole();
  Values results = whole > size ? loop(b, b.index(0), b.index(whole), size, carried, body)
                                : body(b.index(0), size, carried);
  if (whole < range.features)
    results = body(b.index(whole), range.features - whole, results);
  return results;
}

Values FeaturesIf::forBlocks(TileBuilder &b, const FeatureRange &range, ValueRange carried,
                             Body body) const {
  int64_t size = range.blockSize(), whole = range.whole();
  auto upTo = [&](int64_t from, int64_t to) -> Value {
    return b.select(condition, b.index(to), b.index(from));
  };
  Values results = loop(b, b.index(0), upTo(0, whole), size, carried, body);
  if (whole < range.features)
    results =
        loop(b, b.index(whole), upTo(whole, range.features), range.features - whole, results, body);
  return results;
}

//===----------------------------------------------------------------------===//
// Parts of a launch
//===----------------------------------------------------------------------===//

/// Part s of n takes the blocks from s N / n to (s + 1) N / n; the last one what is left.
Values LaunchedParts::forBlocks(TileBuilder &b, const FeatureRange &range, ValueRange carried,
                                Body body) const {
  int64_t size = range.blockSize(), whole = range.whole();
  Value blocks = b.index(whole / size);
  auto bound = [&](Value part) -> Value {
    Value before = b.divIndex(b.mulIndex(part, blocks), parts);
    return b.mulIndex(before, b.index(size));
  };
  Value from = bound(begin), to = bound(end);
  Values results = loop(b, from, to, size, carried, body);
  if (whole < range.features) {
    Value rest = b.select(b.isEqual(end, parts), b.index(range.features), b.index(whole));
    results = loop(b, b.index(whole), rest, range.features - whole, results, body);
  }
  return results;
}

Value LaunchedParts::computesScores(TileBuilder &b, Value position, int64_t length) const {
  return hasTurn(b, position, length, part(), parts);
}

void LaunchedParts::finishBlock(TileBuilder &b, MutableArrayRef<Accumulators>,
                                TileBuilder::Branch results, TileBuilder::Branch part) const {
  b.branch(b.isEqual(parts, b.index(1)), results, part);
}

void LaunchedParts::forParts(TileBuilder &b, TileBuilder::Branch prepare,
                             TileBuilder::Branch body) const {
  prepare();
  b.loop(first, behind, b.index(1), [&](Value part) {
    begin = part;
    end = b.addIndex(part, b.index(1));
    body();
  });
  begin = first;
  end = behind;
}

Value LaunchedParts::rowOfCall(TileBuilder &b, Value row) const { return b.addIndex(row, base); }

Value LaunchedParts::isFirstLaunch(TileBuilder &b) const { return b.isEqual(base, b.index(0)); }

Value LaunchedParts::goesOn(TileBuilder &b) const {
  return b.compare(arith::CmpIPredicate::ne, left, b.index(0));
}

Value LaunchedParts::isAlone(TileBuilder &b) const {
  Value isFirst = isFirstLaunch(b), isWhole = b.isEqual(parts, b.index(1));
  return arith::AndIOp::create(b, isFirst, isWhole);
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

Value ClusterShare::begin(TileBuilder &b, int64_t features) const {
  return b.mulIndex(rank, b.index(rows(features)));
}

/// The rows of the program's own features lie one after another.
Value ClusterShare::rowOf(TileBuilder &b, Value feature, int64_t features) const {
  return b.createOrFold<arith::SubIOp>(feature, begin(b, features));
}

Values ClusterShare::forBlocks(TileBuilder &b, const FeatureRange &range, ValueRange carried,
                               Body body) const {
  Value begin = this->begin(b, range.features);
  int64_t size = range.blockSize(), share = rows(range.features);
  if (share <= size)
    return body(begin, size, carried);
  return loop(b, b.index(0), b.index(share), size, carried,
              [&](Value first, int64_t count, ValueRange in) {
                return body(b.addIndex(begin, first), count, in);
              });
}

Value ClusterShare::computesScores(TileBuilder &b, Value position, int64_t length) const {
  return hasTurn(b, position, length, rank, b.index(size));
}

void ClusterShare::finishBlock(TileBuilder &b, MutableArrayRef<Accumulators> accumulators,
                               TileBuilder::Branch results, TileBuilder::Branch) const {
  for (Accumulators &sum : accumulators) {
    sum.numerator = tile::ClusterSumOp::create(b, sum.numerator);
    if (sum.denominator)
      sum.denominator = tile::ClusterSumOp::create(b, sum.denominator);
  }
  inOneProgram(b, results);
}

void ClusterShare::inOneProgram(TileBuilder &b, TileBuilder::Branch body) const {
  b.branch(b.isEqual(rank, b.index(0)), body);
}

//===----------------------------------------------------------------------===//
// Blocks of features
//===----------------------------------------------------------------------===//

Value FeatureBlockShare::rowOf(TileBuilder &b, Value feature, int64_t) const {
  return b.createOrFold<arith::SubIOp>(feature, first);
}

Values FeatureBlockShare::forBlocks(TileBuilder &b, const FeatureRange &, ValueRange carried,
                                    Body body) const {
  return body(first, size, carried);
}

void FeatureBlockShare::inOneProgram(TileBuilder &b, TileBuilder::Branch body) const {
  b.branch(b.isEqual(first, b.index(0)), body);
}

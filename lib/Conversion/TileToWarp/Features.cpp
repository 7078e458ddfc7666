//===- Features.cpp - factors that are features, formed in registers ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register of a fragment has two neighbours of 16 bits, along the terms of the product. That of
// features in runs (FeatureRuns.h) is the product of two registers: one of eight right factors,
// which all features of the run share, and one of a left factor.
//
// Where features are the terms, a register has two right factors of a position and twice the same
// left factor: half of a word that has two of these. Where positions are the terms, it has a
// feature's right factors at two positions, and its left factors are in another lane.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

std::optional<FeatureRuns> KernelLowering::runsToForm(Value factor) {
  auto monomials = factor.getDefiningOp<MonomialsOp>();
  if (!monomials || computed.contains(factor) || !matricesOf(monomials.getSource()))
    return std::nullopt;
  return FeatureRuns::of(monomials);
}

/// Whether rows of the tile that a window shows are lines of memory.
static bool rowsAreLines(const TileMemory &storage, bool transposed) {
  return storage.columnMajor == transposed;
}

Value KernelLowering::matrixAddress(const Window &window, Value row, Value column) {
  row = e.add(row, window.transposed ? window.column : window.row);
  column = e.add(column, window.transposed ? window.row : window.column);
  bool byRows = rowsAreLines(window.storage, window.transposed);
  Coordinates line, along;
  line.base = e.add(byRows ? row : column, e.modulo(lane, 8));
  along.base = byRows ? column : row;
  return address(window.storage, line, along, 0, 0);
}

/// Two bf16 times a number, rounded again; the same where that is null.
static Value scaledPair(Emitter &e, Value word, Value weight) {
  if (!weight)
    return word;
  Value low = arith::MulFOp::create(e, e.fromBF16(word), weight);
  Value high = arith::MulFOp::create(e, e.fromUpperBF16(word), weight);
  return warp::PackOp::create(e, warp::OperandKind::BF16, low, high);
}

/// The lower or the upper half of a word, twice.
static Value splat(Emitter &e, Value word, bool upper) {
  Value sixteen = e.i32(16);
  Value kept = arith::AndIOp::create(e, word, e.i32(upper ? int32_t(0xffff0000) : 0xffff));
  Value moved = upper ? arith::ShRUIOp::create(e, word, sixteen).getResult()
                      : arith::ShLIOp::create(e, word, sixteen).getResult();
  return arith::OrIOp::create(e, kept, moved);
}

Value KernelLowering::weightOf(const FeatureRuns &runs, Value run) {
  if (runs.weights.empty())
    return {};
  if (llvm::all_equal(runs.weights))
    return e.f32(runs.weights[0]);
  return lookup(run, e.table(runs.weights));
}

//===----------------------------------------------------------------------===//
// Features as terms
//===----------------------------------------------------------------------===//

/// Numbers `feature` to `feature` + 7 of a warp's positions, two in a register, in lane 4 i + j
/// those of position i from 2 j on: a register for each eight positions.
Values KernelLowering::loadEightRows(const Window &source, Value feature,
                                     const WarpTile &warpTile) {
  bool byFeatures = rowsAreLines(source.storage, source.transposed);
  Values loaded;
  for (int64_t eight = 0; eight < 2 * warpTile.rowTiles; eight += 4) {
    int64_t count = std::min<int64_t>(4, 2 * warpTile.rowTiles - eight);
    Value matrix = e.modulo(e.divide(lane, 8), count);
    Value position = e.add(e.add(warpTile.row, e.multiply(matrix, 8)), 8 * eight);
    SmallVector<Type> types(count, e.getI32Type());
    auto load = warp::LdmatrixOp::create(e, types, matrixAddress(source, feature, position),
                                         /*transposed=*/byFeatures);
    llvm::append_range(loaded, load.getMatrices());
  }
  return loaded;
}

/// The `leftCount` left factors from `left` on of each lane's position l / 4 of eight, two in a
/// word.
SmallVector<Values> KernelLowering::loadLeftFactors(const Window &source, Value left,
                                                    int64_t leftCount, const WarpTile &warpTile) {
  int64_t words = leftCount / 2;
  SmallVector<Values> result;
  if (rowsAreLines(source.storage, source.transposed)) {
    // The factors are in the lanes that have the same position.
    Value inEight = e.modulo(left, 8);
    Value from = e.add(e.multiply(e.divide(lane, 4), 4), e.divide(inEight, 2));
    for (Value eight : loadEightRows(source, arith::SubIOp::create(e, left, inEight), warpTile)) {
      Values &own = result.emplace_back();
      for (int64_t i = 0; i < words; ++i)
        own.push_back(
            warp::ShuffleOp::create(e, warp::ShuffleMode::Index, eight, e.orZero(e.add(from, i))));
    }
    return result;
  }
  Coordinates line, along;
  line.base =
      e.add(e.add(warpTile.row, e.divide(lane, 4)), source.transposed ? source.row : source.column);
  along.base = e.add(left, source.transposed ? source.column : source.row);
  for (int64_t eight = 0; eight < 2 * warpTile.rowTiles; ++eight) {
    Value loaded = warp::LoadSharedOp::create(e, e.runType(source.storage.element, leftCount),
                                              address(source.storage, line, along, 8 * eight, 0));
    Values &own = result.emplace_back();
    for (int64_t i = 0; i < words; ++i)
      own.push_back(words == 1 ? loaded : vector::ExtractOp::create(e, loaded, i).getResult());
  }
  return result;
}

KernelLowering::RunFactors KernelLowering::loadRunFactors(const Product &product,
                                                          const FeatureRuns &runs,
                                                          const WarpTile &warpTile, Value term) {
  auto monomials = product.lhs.getDefiningOp<MonomialsOp>();
  Window source = *matricesOf(monomials.getSource());
  recordRead(source.storage, ThreadElements());
  Value run = e.orZero(e.divide(e.add(toI32(monomials.getFirst()), term), runs.features()));
  Value left = lookup(run, e.table(runs.leftRows)), right = lookup(run, e.table(runs.rightRows));
  Value weight = weightOf(runs, run);
  RunFactors factors = {loadEightRows(source, right, warpTile),
                        loadLeftFactors(source, left, runs.leftCount, warpTile)};
  for (Values &own : factors.left)
    for (Value &word : own)
      word = scaledPair(e, word, weight);
  return factors;
}

KernelLowering::Fragments KernelLowering::formTerms(const RunFactors &factors, int64_t offset) {
  Fragments fragments;
  int64_t word = offset / 16; // of two left factors, whose products are 16 terms
  for (size_t eight = 0; eight < factors.right.size(); eight += 2) {
    Values fragment;
    for (bool upper : {false, true})
      for (size_t half : {0, 1})
        fragment.push_back(warp::MultiplyPairsOp::create(
            e, factors.right[eight + half], splat(e, factors.left[eight + half][word], upper)));
    fragments.high.push_back(fragment);
  }
  fragments.low.resize(fragments.high.size());
  return fragments;
}

//===----------------------------------------------------------------------===//
// Positions as terms
//===----------------------------------------------------------------------===//

KernelLowering::Fragments KernelLowering::formRows(const Product &product, const FeatureRuns &runs,
                                                   const WarpTile &warpTile, Value term) {
  auto monomials = product.lhs.getDefiningOp<MonomialsOp>();
  Window source = *matricesOf(monomials.getSource());
  recordRead(source.storage, ThreadElements());
  Value first = e.orZero(e.add(toI32(monomials.getFirst()), warpTile.row));
  int64_t tilesOfRun = runs.leftCount / 2;
  int64_t known = std::max<int64_t>(Emitter::divisorOf(first) / 16, 1);
  int64_t together = std::gcd(std::gcd(warpTile.rowTiles, tilesOfRun), known);
  bool byFeatures = rowsAreLines(source.storage, source.transposed);

  Fragments fragments;
  for (int64_t tile = 0; tile < warpTile.rowTiles; tile += together) {
    Value feature = e.orZero(e.add(first, 16 * tile));
    Value run = e.divide(feature, runs.features());
    Value left = lookup(run, e.table(runs.leftRows)), right = lookup(run, e.table(runs.rightRows));
    Value weight = weightOf(runs, run);
    Value inEight = e.modulo(left, 8), leftEight = arith::SubIOp::create(e, left, inEight);
    // Lanes 0 to 15 name the right factors of 16 positions, the others eight left ones.
    Value matrix = e.divide(lane, 8);
    Value row = e.select(e.less(matrix, 2), right, leftEight);
    Value column = e.add(term, e.multiply(e.modulo(matrix, 2), 8));
    SmallVector<Type> types(4, e.getI32Type());
    Values loaded(warp::LdmatrixOp::create(e, types, matrixAddress(source, row, column),
                                           /*transposed=*/!byFeatures)
                      .getMatrices());
    for (Value &word : MutableArrayRef<Value>(loaded).drop_front(2))
      word = scaledPair(e, word, weight);
    if (together < tilesOfRun)
      inEight = e.add(inEight, e.multiply(e.divide(e.modulo(feature, runs.features()), 16), 2));
    Value from = e.add(e.multiply(inEight, 4), e.modulo(lane, 4));
    for (int64_t i = 0; i < together; ++i) {
      Values fragment(4);
      for (int64_t odd = 0; odd < 2; ++odd)
        for (int64_t half = 0; half < 2; ++half) {
          Value leftPair = warp::ShuffleOp::create(e, warp::ShuffleMode::Index, loaded[2 + half],
                                                   e.add(from, 4 * (2 * i + odd)));
          fragment[2 * half + odd] = warp::MultiplyPairsOp::create(e, loaded[half], leftPair);
        }
      fragments.high.push_back(fragment);
    }
  }
  fragments.low.resize(fragments.high.size());
  return fragments;
}

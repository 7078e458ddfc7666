//===- Fragments.cpp - factors of products --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts are those of the PTX ISA for mma.m16n8k16 and mma.m16n8k8, as `warp.mma_sync`
// describes them.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// Through ldmatrix
//===----------------------------------------------------------------------===//

std::optional<KernelLowering::Window> KernelLowering::windowOf(Value value) {
  if (computed.contains(value)) {
    auto known = storages.find(value);
    if (known == storages.end())
      return std::nullopt;
    Window window;
    window.storage = known->second;
    return window;
  }
  if (auto read = value.getDefiningOp<ReadOp>()) {
    auto copy = bf16Copies.find(read.getBuffer());
    if (copy == bf16Copies.end())
      return std::nullopt;
    Window window;
    window.storage = copy->second;
    window.row = toI32(read.getRow());
    return window;
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    std::optional<Window> window = windowOf(transpose.getSource());
    if (window)
      window->transposed = !window->transposed;
    return window;
  }
  auto slice = value.getDefiningOp<SliceOp>();
  std::optional<Window> window = slice ? windowOf(slice.getSource()) : std::nullopt;
  if (!window)
    return std::nullopt;
  Value row = toI32(slice.getRow()), column = toI32(slice.getColumn());
  if (window->transposed)
    std::swap(row, column);
  ThreadElements probe;
  (window->storage.columnMajor ? probe.rows : probe.columns).run = window->alignment;
  ThreadElements moved = shifted(probe, row, column);
  window->alignment = (window->storage.columnMajor ? moved.rows : moved.columns).run;
  window->row = e.add(window->row, row);
  window->column = e.add(window->column, column);
  return window;
}

std::optional<KernelLowering::Window> KernelLowering::matricesOf(Value value) {
  std::optional<Window> window = windowOf(value);
  if (!window || window->storage.isVector() || window->storage.space != Space::Shared ||
      !window->storage.element.isBF16() || window->alignment % 8)
    return std::nullopt;
  return window;
}

bool KernelLowering::loadMatrices(const Product &product, bool isLhs, const WarpTile &warpTile,
                                  Value term, int64_t first, int64_t count, Fragments &fragments) {
  // A fragment takes in the neighbours of one row or column. Behind a row of a buffer there are
  // always others, and a left factor with one term has zeros where these would be.
  Value factor = isLhs ? product.lhs : product.rhs;
  if (isVector(factor) && (isLhs || !factor.getDefiningOp<ReadOp>()))
    return false;
  std::optional<Window> window = matricesOf(factor);
  if (!window)
    return false;
  const TileMemory &storage = window->storage;
  recordRead(storage, ThreadElements());
  // Terms run along columns of A and rows of B, unless these are transposed on the way.
  bool termsAreColumns = isLhs && !product.lhsTransposed;
  termsAreColumns ^= window->transposed;
  bool termsAlongLines = termsAreColumns != storage.columnMajor;
  Value lineShift = storage.columnMajor ? window->column : window->row;
  Value alongShift = storage.columnMajor ? window->row : window->column;

  // Lane l names a row of matrix l / 8. Matrices 0, 1 of A are the upper and lower half of the same
  // terms; those of B the first and second half of the terms.
  Value inMatrix = e.modulo(lane, 8), matrix = e.divide(lane, 8);
  Value odd = e.multiply(e.modulo(matrix, 2), 8), high = e.multiply(e.divide(matrix, 2), 8);
  Value outer = isLhs ? odd : high, inner = isLhs ? high : odd; // inner: along the terms
  if (termsAlongLines)
    outer = e.add(outer, inMatrix);
  else
    inner = e.add(inner, inMatrix);
  outer = e.add(outer, isLhs ? warpTile.row : warpTile.column);
  inner = e.add(inner, term);
  Coordinates line, along;
  line.base = e.add(termsAlongLines ? outer : inner, lineShift);
  along.base = e.add(termsAlongLines ? inner : outer, alongShift);
  int64_t end = first + count, perLoad = isLhs ? 1 : 2, extent = isLhs ? 16 : 8;
  for (int64_t t = first; t < end; t += perLoad) {
    int64_t shift = t * extent;
    Value at =
        address(storage, line, along, termsAlongLines ? shift : 0, termsAlongLines ? 0 : shift);
    bool half = !isLhs && t + 1 == end;
    SmallVector<Type> types(half ? 2 : 4, e.getI32Type());
    Values loaded(
        warp::LdmatrixOp::create(e, types, at, /*transposed=*/!termsAlongLines).getMatrices());
    if (isLhs) {
      fragments.high.push_back(loaded);
      continue;
    }
    for (size_t i = 0; i < loaded.size(); i += 2)
      fragments.high.push_back({loaded[i], loaded[i + 1]});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// From accumulators
//===----------------------------------------------------------------------===//

/// Adds two neighbouring numbers of a fragment in bf16, and what rounding them leaves to `low`
/// where factors are split.
void KernelLowering::addPair(Value first, Value second, Values &high, Values &low) {
  if (residency.splitsOperands()) {
    auto [rounded, rest] = e.splitPair(first, second);
    high.push_back(rounded);
    low.push_back(rest);
    return;
  }
  high.push_back(warp::PackOp::create(e, warp::OperandKind::BF16, first, second));
}

// The lanes of a warp have two neighbouring 16 x 8 accumulators as mma.m16n8k16 wants its A.
KernelLowering::Fragments KernelLowering::fragmentsInRegisters(Value factor, int64_t term) {
  const Values &values = registers[factor];
  int64_t columns = values.size() / 2, first = term / 4; // a lane has two rows
  Fragments fragments;
  Values &high = fragments.high.emplace_back(), &low = fragments.low.emplace_back();
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t row = 0; row < 2; ++row) {
      int64_t at = row * columns + first + 2 * half;
      addPair(values[at], values[at + 1], high, low);
    }
  return fragments;
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Elements (outer, term), outer by outer.
Values KernelLowering::evaluateFactor(const Product &product, bool isLhs, const Coordinates &outer,
                                      const Coordinates &terms) {
  bool termsAreColumns = isLhs && !product.lhsTransposed;
  Value factor = isLhs ? product.lhs : product.rhs;
  // A vector has one row or column, and none of the others that a fragment takes in.
  TileType type = tileType(factor);
  auto only = [](int64_t size, const Coordinates &all) { return size == 1 ? Coordinates() : all; };
  Coordinates rows = termsAreColumns ? outer : terms, columns = termsAreColumns ? terms : outer;
  ThreadElements owned;
  owned.rows = only(type.getRows(), rows);
  owned.columns = only(type.getColumns(), columns);
  Values values = evaluate(factor, owned);
  auto valueAt = [&](int64_t r, int64_t c) {
    Value value = values[(type.getRows() == 1 ? 0 : r) * owned.columns.size() +
                         (type.getColumns() == 1 ? 0 : c)];
    auto first = [&](int64_t size, const Coordinates &all, int64_t i) {
      if (size == 1)
        value = e.select(e.less(e.add(all.base, all.offsets[i]), 1), value, e.f32(0));
    };
    first(type.getRows(), rows, r);
    first(type.getColumns(), columns, c);
    return value;
  };
  Values result;
  for (int64_t o = 0; o < outer.size(); ++o)
    for (int64_t t = 0; t < terms.size(); ++t)
      result.push_back(termsAreColumns ? valueAt(o, t) : valueAt(t, o));
  return result;
}

KernelLowering::Fragments KernelLowering::loadFragments(const Product &product, bool isLhs,
                                                        const WarpTile &warpTile, Value term,
                                                        int64_t first, int64_t count) {
  Fragments fragments;
  if (loadMatrices(product, isLhs, warpTile, term, first, count, fragments)) {
    // A bf16 in memory is exact: it has no second number.
    fragments.low.resize(fragments.high.size());
    return fragments;
  }
  if (isLhs && !product.lhsTransposed && product.lhsTriangle == tile::Triangle::None)
    if (std::optional<FeatureRuns> runs = runsToForm(product.lhs))
      return formRows(product, *runs, warpTile, term);
  bool wide = residency.operandKind() == warp::OperandKind::TF32;
  Value group = e.divide(lane, 4), member = e.modulo(lane, 4);
  Coordinates outer, terms;
  outer.base = e.add(isLhs ? warpTile.row : warpTile.column, group);
  outer.offsets.clear();
  for (int64_t t = first; t < first + count; ++t) {
    if (isLhs)
      outer.offsets.append({16 * t, 16 * t + 8});
    else
      outer.offsets.push_back(8 * t);
  }
  terms.base = e.add(e.multiply(member, wide ? 1 : 2), term);
  if (wide) {
    terms.offsets = {0, 4};
  } else {
    terms.offsets = {0, 1, 8, 9};
    terms.run = 2;
  }
  Values values = evaluateFactor(product, isLhs, outer, terms);
  int64_t perOuter = terms.size(), outers = isLhs ? 2 : 1;
  for (int64_t t = 0; t < count; ++t) {
    Values high, low;
    // Halves of the terms outside, halves of the rows inside.
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t o = 0; o < outers; ++o) {
        const Value *elements = &values[(t * outers + o) * perOuter + half * perOuter / 2];
        if (!wide) {
          addPair(elements[0], elements[1], high, low);
          continue;
        }
        Value rounded = warp::RoundTf32Op::create(e, elements[0]);
        high.push_back(e.bits(rounded));
        if (residency.splitsOperands()) {
          Value rest = arith::SubFOp::create(e, elements[0], rounded);
          low.push_back(e.bits(warp::RoundTf32Op::create(e, rest)));
        }
      }
    fragments.high.push_back(high);
    fragments.low.push_back(low);
  }
  return fragments;
}

// Registers of A go by halves of the terms in pairs, those of B one by one.
void KernelLowering::maskTerms(Fragments &fragments, bool isLhs, Value term, Value bound) {
  bool wide = residency.operandKind() == warp::OperandKind::TF32;
  Value first = e.add(e.multiply(e.modulo(lane, 4), wide ? 1 : 2), term);
  Value masks[2];
  for (int64_t half = 0; half < 2; ++half) {
    Value at = e.add(first, half * (wide ? 4 : 8));
    masks[half] = e.select(e.less(at, bound), e.i32(wide ? -1 : 0xffff), e.i32(0));
    if (!wide)
      masks[half] = e.select(e.less(e.add(at, 1), bound), e.i32(-1), masks[half]);
  }
  for (auto *set : {&fragments.high, &fragments.low})
    for (Values &fragment : *set)
      for (auto [i, part] : llvm::enumerate(fragment))
        part = arith::AndIOp::create(e, part, masks[isLhs ? i / 2 : i]);
}

//===- Contract.cpp - gradients of products of two rows -*- C++ -*-===//
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

namespace {
/// Products with one row in common, whose other rows follow each other.
struct Run {
  int32_t begin; // the first product of the table
  int32_t shared, other;
};
} // namespace

/// The runs of a table of pairs.
static SmallVector<Run> runsOf(DenseIntElementsAttr table) {
  SmallVector<int32_t> rows(table.getValues<int32_t>());
  SmallVector<Run> runs;
  for (int32_t i = 0; i < int32_t(rows.size() / 2); ++i) {
    int32_t shared = rows[2 * i], other = rows[2 * i + 1];
    if (runs.empty() || runs.back().shared != shared ||
        other != runs.back().other + i - runs.back().begin)
      runs.push_back({i, shared, other});
  }
  return runs;
}

LogicalResult KernelLowering::lowerContract(ContractOp op) {
  if (op.getResult().use_empty())
    return success();
  TileMemory destination;
  if (Value carried = fusion.carriedDestination(op.getResult()))
    destination = storages[op.getResult()] = storages.lookup(carried);
  else
    destination = allocateFor(op.getResult());
  bool isThere =
      !fusion.isDeferred(op.getAcc()) && isSameMemory(storageOf(op.getAcc()), destination);
  if (!isThere)
    compute(op.getAcc(), destination);

  auto tableOf = [&](ArrayRef<int32_t> numbers) {
    auto type = RankedTensorType::get({int64_t(numbers.size())}, e.getI32Type());
    return constantTable(DenseElementsAttr::get(type, numbers), numbers.size(), 1);
  };
  SmallVector<int32_t> begins, shareds, others;
  auto table = cast<DenseIntElementsAttr>(op.getTable());
  for (Run run : runsOf(table)) {
    begins.push_back(run.begin);
    shareds.push_back(run.shared);
    others.push_back(run.other);
  }
  int64_t runs = begins.size();
  begins.push_back(cast<ShapedType>(table.getType()).getDimSize(0));
  TileMemory beginTable = tableOf(begins), sharedTable = tableOf(shareds),
             otherTable = tableOf(others);
  auto number = [&](const TileMemory &table, Offset run) {
    Value loaded = loadElement(table, run, 0);
    return Offset(arith::ExtSIOp::create(e, e.getI64Type(), loaded).getResult());
  };
  Contraction contraction{storageOf(op.getGradient()), storageOf(op.getSource()), destination,
                          std::nullopt, scalar(op.getFirst())};
  if (auto weights = op.getWeights())
    contraction.weights = weightTable(*weights, destination.element);
  int64_t count = op.getGradient().getType().getRows();
  e.loop(0, runs, 1, [&](Offset run) {
    // The part of the run among the rows of the gradient.
    Offset start = e.sub(number(beginTable, run), contraction.first);
    Offset begin = e.max(start, 0);
    Offset end = e.min(e.sub(number(beginTable, e.add(run, 1)), contraction.first), count);
    e.ifLess(begin, end, [&] {
      Offset other = e.add(number(otherTable, run), e.sub(begin, start));
      contractRun(contraction, {begin, end, number(sharedTable, run), other});
    });
  });
  return success();
}

/// Adds up what a run gives: the row that its products have in common, and the sum that it gets,
/// stay in registers.
void KernelLowering::contractRun(const Contraction &c, const ContractedRun &run) {
  constexpr int64_t most = 4; // vectors at a time
  int64_t vectors = e.vectors(c.destination.columns);
  // The rows of a column lie side by side.
  int64_t lanes = c.destination.columns == 1 ? 1 : e.width();
  for (int64_t first = 0; first < vectors; first += most) {
    int64_t count = std::min(most, vectors - first);
    auto at = [&](const TileMemory &tile, Offset row, int64_t v) {
      return address(tile, row, (first + v) * e.width());
    };
    auto load = [&](const TileMemory &tile, Offset row, int64_t v) {
      return e.loadVector(tile.element, tile.base, at(tile, row, v), lanes);
    };
    Vectors shared;
    for (int64_t v = 0; v < count; ++v)
      shared.push_back(load(c.source, run.shared, v));
    Vectors zeros(count, e.splat(e.getFloatAttr(c.destination.element, 0), lanes));
    Vectors sums = e.loop(run.begin, run.end, 1, zeros, [&](Offset row, ValueRange in) {
      Offset other = e.add(run.other, e.sub(row, run.begin));
      Value weight =
          c.weights ? e.broadcast(loadElement(*c.weights, e.add(c.first, row), 0), lanes) : Value();
      Vectors next;
      for (int64_t v = 0; v < count; ++v) {
        Value gradient = load(c.gradient, row, v);
        if (weight)
          gradient = arith::MulFOp::create(e, gradient, weight);
        next.push_back(e.fma(gradient, load(c.source, other, v), in[v]));
        Value sum = e.fma(gradient, shared[v], load(c.destination, other, v));
        e.store(sum, c.destination.base, at(c.destination, other, v));
      }
      return next;
    });
    for (int64_t v = 0; v < count; ++v) {
      Value sum = arith::AddFOp::create(e, load(c.destination, run.shared, v), sums[v]);
      e.store(sum, c.destination.base, at(c.destination, run.shared, v));
    }
  }
}

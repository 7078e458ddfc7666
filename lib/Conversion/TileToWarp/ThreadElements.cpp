//===- ThreadElements.cpp - which elements a thread has -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadElements.h"
#include "KernelLowering.h"
#include "polyattn/Target/GPUDescription.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;

Coordinates polyattn::tile_to_warp::consecutive(Value base, int64_t count) {
  Coordinates axis;
  axis.base = base;
  axis.offsets = llvm::to_vector(llvm::seq<int64_t>(0, count));
  axis.run = count;
  return axis;
}

//===----------------------------------------------------------------------===//
// From a layout
//===----------------------------------------------------------------------===//

ThreadElements polyattn::tile_to_warp::elementsOfRun(Emitter &e, const ThreadLayout &layout,
                                                     Value number) {
  int64_t perLine = layout.lineLength() / layout.run;
  Coordinates line;
  line.base = e.divide(number, perLine);
  Coordinates inside = consecutive(e.multiply(e.modulo(number, perLine), layout.run), layout.run);
  ThreadElements owned;
  owned.rows = layout.columnMajor ? inside : line;
  owned.columns = layout.columnMajor ? line : inside;
  owned.layout = layout;
  return owned;
}

std::pair<Value, Value> polyattn::tile_to_warp::firstAccumulator(Emitter &e,
                                                                 const ThreadLayout &layout,
                                                                 const WarpLayout &warps,
                                                                 Value warp) {
  Value rowWarp = e.modulo(e.divide(warp, layout.columnWarps), layout.rowWarps);
  Value columnWarp = e.modulo(warp, layout.columnWarps);
  return {e.multiply(rowWarp, 16 * warps.rowTiles), e.multiply(columnWarp, 8 * warps.columnTiles)};
}

// Lane l holds rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next of each 16 x 8 fragment.
ThreadElements polyattn::tile_to_warp::elementsOfAccumulators(Emitter &e, const WarpTile &warpTile,
                                                              Value lane) {
  ThreadElements owned;
  owned.warpTile = warpTile;
  owned.rows.base = e.add(warpTile.row, e.divide(lane, 4));
  owned.columns.base = e.add(warpTile.column, e.multiply(e.modulo(lane, 4), 2));
  owned.rows.offsets.clear();
  owned.columns.offsets.clear();
  for (int64_t i = 0; i < warpTile.rowTiles; ++i)
    owned.rows.offsets.append({16 * i, 16 * i + 8});
  for (int64_t j = 0; j < warpTile.columnTiles; ++j)
    owned.columns.offsets.append({8 * j, 8 * j + 1});
  owned.columns.run = 2;
  return owned;
}

LaneSum polyattn::tile_to_warp::laneSumOf(Emitter &e, const ThreadLayout &layout, Value number,
                                          Value lane) {
  if (layout.neighbours)
    return {e.divide(number, layout.lanes), e.modulo(number, layout.lanes)};
  int64_t perWarp = GPUDescription::warpSize / layout.lanes;
  Value element = e.add(e.multiply(e.divide(number, GPUDescription::warpSize), perWarp),
                        e.modulo(lane, perWarp));
  return {element, e.divide(lane, perWarp)};
}

Value polyattn::tile_to_warp::rowSumOf(Emitter &e, Value firstRow, Value lane) {
  return e.add(firstRow, e.divide(lane, 4));
}

//===----------------------------------------------------------------------===//
// Loops over the elements of a tile
//===----------------------------------------------------------------------===//

void KernelLowering::forCopyRuns(int64_t rows, int64_t columns, bool columnMajor, int64_t run,
                                 ElementsBody body) {
  int64_t along = columnMajor ? rows : columns, lines = columnMajor ? columns : rows;
  while (along % run)
    run /= 2;
  ThreadLayout layout = ThreadLayout::runs(options.warps, rows, columns, columnMajor, run);
  int64_t threads = layout.threads(), total = along / run * lines;
  e.loop((total + threads - 1) / threads, [&](Value pass) {
    Value number = e.add(thread, e.multiply(pass, threads));
    ThreadElements owned = elementsOfRun(e, layout, number);
    Value condition = total % threads ? e.less(number, total) : Value();
    e.when(condition, [&] { body(owned, {}); });
  });
}

void KernelLowering::forCopyRuns(const TileMemory &storage, ElementsBody body) {
  forCopyRuns(storage.rows, storage.columns, storage.columnMajor,
              storage.isVector() ? 1 : 16 / storage.elementBytes(), body);
}

ThreadElements KernelLowering::accumulatorElements(int64_t rows, int64_t columns) {
  ThreadElements result;
  forAccumulators(rows, columns, ProductCount(), /*whole=*/true,
                  [&](const ThreadElements &owned, Value) { result = owned; });
  return result;
}

/// The part of a warp's tiles that divides them, has at most `limit` fragments and loads least for
/// each product.
static std::pair<int64_t, int64_t> partOf(const WarpLayout &warps, int64_t limit,
                                          int64_t lhsCount) {
  std::pair<int64_t, int64_t> best(1, 1);
  auto cost = [&](int64_t rows, int64_t columns) {
    return double(fragmentWavefronts(rows, columns, lhsCount)) / (rows * columns);
  };
  for (int64_t rows = 1; rows <= warps.rowTiles; ++rows)
    for (int64_t columns = 1; columns <= warps.columnTiles; ++columns)
      if (warps.rowTiles % rows == 0 && warps.columnTiles % columns == 0 &&
          rows * columns <= limit && cost(rows, columns) < cost(best.first, best.second))
        best = {rows, columns};
  return best;
}

/// Whether a loop carries this from a buffer through all of its iterations (CarryStates.cpp), or
/// will: such a state has registers of its own.
static bool isCarriedState(Value value) {
  auto isState = [](scf::ForOp loop, int64_t i) {
    return i >= 0 && loop.getInitArgs()[i].getDefiningOp<tile::ReadOp>();
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return isState(loop, int64_t(argument.getArgNumber()) - loop.getNumInductionVars());
  }
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
    return loop && isa<scf::YieldOp>(use.getOwner()) && isState(loop, use.getOperandNumber());
  });
}

void KernelLowering::forAccumulators(int64_t rows, int64_t columns, const ProductCount &products,
                                     bool whole, ElementsBody body) {
  WarpLayout warps = residency.layoutOf(rows, columns, products.together);
  int64_t rowTiles = warps.rowTiles, columnTiles = warps.columnTiles;
  if (!whole) {
    int64_t live = 0, states = 0;
    for (auto &[value, accumulators] : registers)
      (isCarriedState(value) ? states : live) += accumulators.size();
    int64_t free = std::min(GPUDescription::maxAccumulatorsPerThread,
                            GPUDescription::maxAccumulatorsWithStates - states) -
                   live - products.otherRegisters -
                   (residency.roundsSums() ? GPUDescription::registersOfRoundedSums : 0);
    int64_t fragments = free / 4 / std::max<int64_t>(products.all, 1);
    std::tie(rowTiles, columnTiles) = partOf(warps, fragments, products.together);
  }
  int64_t active = warps.rowWarps * warps.columnWarps;
  Value condition = active < options.warps ? e.less(warp, active) : Value();
  // Fragments do not change who has what, the number of warps along each side does.
  auto layout =
      ThreadLayout::accumulators(options.warps, rows, columns, warps.rowWarps, warps.columnWarps);
  auto [firstRow, firstColumn] = firstAccumulator(e, layout, warps, warp);
  WarpTile warpTile;
  warpTile.rowTiles = rowTiles;
  warpTile.columnTiles = columnTiles;
  if (columnTiles == warps.columnTiles) {
    warpTile.sharers = warps.columnWarps;
    warpTile.sharer = e.modulo(warp, warps.columnWarps);
  }
  e.loop(warps.rowTiles / rowTiles, [&, firstRow = firstRow, firstColumn = firstColumn](Value i) {
    e.loop(warps.columnTiles / columnTiles, [&](Value j) {
      warpTile.row = e.add(firstRow, e.multiply(i, 16 * rowTiles));
      warpTile.column = e.add(firstColumn, e.multiply(j, 8 * columnTiles));
      ThreadElements owned = elementsOfAccumulators(e, warpTile, lane);
      owned.layout = layout;
      owned.isMirrored = bool(condition);
      body(owned, condition);
    });
  });
}

bool KernelLowering::forProducts(Value value, ElementsBody body) {
  bool known = computed.contains(value);
  bool fromRegisters =
      known ? residency.readsRegisters(value)
            : residency.readsRegisters(value) || residency.computesFromRegisters(value);
  ProductCount products;
  products.all = known ? 0 : residency.countDotsInside(value);
  // Several products have the accumulator layout of one.
  if (products.all && !fromRegisters)
    products.together = countSiblings(value);
  if (!fromRegisters && !products.all)
    return false;
  tile::TileType type = tileType(value);
  forAccumulators(type.getRows(), type.getColumns(), products, fromRegisters, body);
  return true;
}

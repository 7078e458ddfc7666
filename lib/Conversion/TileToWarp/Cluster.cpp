//===- Cluster.cpp - sums over the CTAs of a cluster ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

void KernelLowering::beginClusterPhase() {
  barriers.beginPhase(warp::ClusterBarrierOp::create(e), /*isNeeded=*/true);
  bindThread();
}

void KernelLowering::addRemote(const Storage &storage, const Grid &grid, Values &values) {
  for (int64_t distance = 1; distance < kernel.getClusterSize(); ++distance) {
    Value other = e.modulo(e.add(clusterRank, distance), kernel.getClusterSize());
    forRuns(storage, grid, [&](Value address, ArrayRef<int64_t> elements) {
      Type type = e.runType(storage.element, elements.size());
      Values loaded;
      e.unpack(warp::LoadClusterOp::create(e, type, address, other), loaded);
      for (auto [element, value] : llvm::zip(elements, loaded))
        values[element] = arith::AddFOp::create(e, values[element], value);
    });
  }
}

// Each CTA shows what it has, all meet, each adds what the others show, and all meet again before
// that memory is used for something else.
LogicalResult KernelLowering::lowerClusterSum(ClusterSumOp sum) {
  Value input = sum.getInput(), result = sum.getResult();
  TileType type = tileType(result);
  Storage shown = allocate(Storage::of(type.getRows(), type.getColumns(), e.getF32Type(),
                                       /*columnMajor=*/type.getColumns() == 1));
  if (shown.space != Space::Shared)
    return sum.emitError("shared memory has no place for the sums of a cluster");
  beginPhase();
  if (placement.of(result) == Place::Registers) {
    auto onAccumulators = [&](GridBody body) {
      forAccumulators(type.getRows(), type.getColumns(), ProductCount(), /*whole=*/true, body);
    };
    Values values;
    onAccumulators([&](const Grid &grid, Value condition) {
      values = evaluate(input, grid);
      recordWrite(shown, grid);
      e.when(condition, [&] { storeElements(shown, grid, values); });
    });
    beginClusterPhase();
    onAccumulators([&](const Grid &grid, Value) { addRemote(shown, grid, values); });
    registers[result] = values;
  } else {
    writeTile(input, shown, 0, shown.rows, shown.columns);
    beginClusterPhase();
    Storage storage = allocateFor(result);
    forCopyGrids(storage, [&](const Grid &grid, Value condition) {
      Values values = loadElements(shown, grid);
      addRemote(shown, grid, values);
      recordWrite(storage, grid);
      e.when(condition, [&] { storeElements(storage, grid, values); });
    });
  }
  beginClusterPhase();
  shared.free(shown.offset);
  computed.insert(result);
  return success();
}

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

/// A loop over the other CTAs: what all of them show at once would need too many registers.
void KernelLowering::addRemote(const TileMemory &storage, const ThreadElements &owned,
                               Values &values) {
  int64_t size = kernel.getClusterSize();
  auto add = [&](Value distance) {
    Value other = e.modulo(e.add(clusterRank, distance), size);
    forRuns(storage, owned, [&](Value address, ArrayRef<int64_t> elements) {
      Type type = e.runType(storage.element, elements.size());
      Values loaded;
      e.unpack(warp::LoadClusterOp::create(e, type, address, other), loaded);
      for (auto [element, value] : llvm::zip(elements, loaded))
        values[element] = arith::AddFOp::create(e, values[element], value);
    });
  };
  if (size == 2)
    return add(e.i32(1));
  auto loop = scf::ForOp::create(e, e.i32(1), e.i32(size), e.i32(1), values);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  values.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  add(loop.getInductionVar());
  scf::YieldOp::create(e, values);
  values.assign(loop.getResults().begin(), loop.getResults().end());
}

// Each CTA shows what it has, all meet, each adds what the others show, and all meet again before
// that memory is used for something else.
LogicalResult KernelLowering::lowerClusterSum(ClusterSumOp sum) {
  Value input = sum.getInput(), result = sum.getResult();
  TileType type = tileType(result);
  TileMemory shown = allocate(TileMemory::of(type.getRows(), type.getColumns(), e.getF32Type(),
                                             /*columnMajor=*/type.getColumns() == 1));
  if (shown.space != Space::Shared)
    return sum.emitError("shared memory is too small for the sums of a cluster");
  beginPhase();
  if (residency.of(result) == Residency::Registers) {
    auto onAccumulators = [&](ElementsBody body) {
      forAccumulators(type.getRows(), type.getColumns(), ProductCount(), /*whole=*/true, body);
    };
    Values values;
    onAccumulators([&](const ThreadElements &owned, Value condition) {
      values = evaluate(input, owned);
      recordWrite(shown, owned);
      e.when(condition, [&] { storeElements(shown, owned, values); });
    });
    beginClusterPhase();
    onAccumulators([&](const ThreadElements &owned, Value) { addRemote(shown, owned, values); });
    registers[result] = values;
  } else {
    writeTile(input, shown, 0, shown.rows, shown.columns);
    beginClusterPhase();
    TileMemory storage = allocateFor(result);
    forCopyRuns(storage, [&](const ThreadElements &owned, Value condition) {
      Values values = loadElements(shown, owned);
      addRemote(shown, owned, values);
      recordWrite(storage, owned);
      e.when(condition, [&] { storeElements(storage, owned, values); });
    });
  }
  beginClusterPhase();
  shared.free(shown.offset);
  computed.insert(result);
  return success();
}

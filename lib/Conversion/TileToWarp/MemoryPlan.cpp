//===- MemoryPlan.cpp - what stays in shared memory -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "ResidencyAnalysis.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

static TileMemory storageOf(BufferOp buffer, Type element) {
  BufferType type = buffer.getResult().getType();
  bool wholeFragments = llvm::all_of(buffer->getUsers(), [](Operation *user) {
    auto read = dyn_cast<ReadOp>(user);
    return !read || tileType(read.getResult()).getRows() % 16 == 0;
  });
  return TileMemory::of(type.getRows() + (wholeFragments ? 0 : 15), type.getColumns(), element,
                        /*columnMajor=*/type.getColumns() == 1);
}

TileMemory polyattn::tile_to_warp::bufferStorage(BufferOp buffer) {
  return storageOf(buffer, Float32Type::get(buffer.getContext()));
}

TileMemory polyattn::tile_to_warp::operandStorage(BufferOp buffer) {
  return storageOf(buffer, BFloat16Type::get(buffer.getContext()));
}

/// Vectors are small, and always in shared memory.
static SmallVector<BufferOp> statesOf(KernelOp kernel) {
  SmallVector<BufferOp> states;
  kernel.walk([&](BufferOp buffer) {
    if (buffer.getResult().getType().getColumns() > 1)
      states.push_back(buffer);
  });
  return states;
}

/// The loops that carry a state (CarryStates.cpp), each from what the buffer has before it.
static SmallVector<scf::ForOp> carryingLoops(BufferOp state) {
  SmallVector<scf::ForOp> loops;
  for (Operation *user : state->getUsers())
    if (isa<ReadOp>(user) && user->hasOneUse())
      if (auto loop = dyn_cast<scf::ForOp>(*user->user_begin()))
        loops.push_back(loop);
  return loops;
}

scf::ForOp polyattn::tile_to_warp::lastLoopOf(BufferOp state) {
  for (scf::ForOp loop : carryingLoops(state))
    if (!isUsedAfter(loop, state.getResult()))
      return loop;
  return {};
}

/// The most bytes that the weights before all loops may take.
static int64_t weightBytesOf(KernelOp kernel) {
  int64_t bytes = 0;
  for (auto load : kernel.getBody().front().getOps<LoadOp>()) {
    if (!isWeight(load))
      continue;
    TileType type = load.getResult().getType();
    TileMemory storage = TileMemory::of(type.getRows(), type.getColumns(), type.getElementType(),
                                        /*columnMajor=*/false);
    bytes += roundUp(storage.bytes, 128);
  }
  return bytes;
}

MemoryPlan MemoryPlan::minimal(KernelOp kernel, const TileToWarpOptions &options, bool copies) {
  MemoryPlan plan;
  for (BufferOp state : statesOf(kernel))
    if (!lastLoopOf(state))
      plan.workspaceStates.insert(state);
  if (!copies)
    return plan;
  ResidencyAnalysis residency(kernel, options.warps, plan);
  for (BufferOp state : statesOf(kernel))
    if (residency.isReadByProducts(state))
      plan.bf16Copies.insert(state);
  return plan;
}

void MemoryPlan::assignRemaining(KernelOp kernel, int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 0);
  int64_t weights = weightBytesOf(kernel);
  for (BufferOp state : statesOf(kernel)) {
    // What a loop carries is read and written once.
    int64_t others = carryingLoops(state).empty() ? 0 : weights;
    int64_t needed = roundUp(bufferStorage(state).bytes, 128);
    if (!workspaceStates.contains(state) || needed + others > bytes)
      continue;
    bytes -= needed;
    workspaceStates.erase(state);
  }
  weightBytes = bytes;
}

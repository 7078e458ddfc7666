//===- Pipeline.cpp - copies of the next block of positions ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An iteration of the loop waits for the copies of its block, which the iteration before has
// started, meets the other threads, who all are done with the block before it, and starts the
// copies of the next block where that one was. One barrier serves both.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "dialects/Tile/Inputs.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// Adds what a number is computed from inside the loop, operands first; false if that is more than
/// arithmetic on the induction variable and on what the loop does not change.
static bool collectArithmetic(Value number, scf::ForOp loop,
                              llvm::SetVector<Operation *> &arithmetic) {
  if (loop.isDefinedOutsideOfLoop(number) || number == loop.getInductionVar())
    return true;
  Operation *op = number.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody() || !isa<arith::ArithDialect>(op->getDialect()))
    return false;
  for (Value operand : op->getOperands())
    if (!collectArithmetic(operand, loop, arithmetic))
      return false;
  arithmetic.insert(op);
  return true;
}

bool KernelLowering::isKnownAhead(LoadOp load, scf::ForOp loop, Pipeline &pipeline) {
  // What the kernel writes may change before the next iteration.
  ValueRange numbers = load->getOperands().drop_front();
  if (!isOnlyRead(load.getMemref()) ||
      llvm::all_of(numbers, [&](Value number) { return loop.isDefinedOutsideOfLoop(number); }))
    return false;
  llvm::SetVector<Operation *> arithmetic;
  for (Value number : numbers)
    if (!collectArithmetic(number, loop, arithmetic))
      return false;
  pipeline.arithmetic.insert_range(arithmetic);
  return true;
}

KernelLowering::Pipeline KernelLowering::collectCopies(scf::ForOp loop) {
  Pipeline pipeline;
  int64_t &bytes = pipeline.doubleBuffer.bytes;
  for (auto load : loop.getBody()->getOps<LoadOp>()) {
    Value value = load.getResult();
    if (value.use_empty() || residency.of(value) != Residency::Memory ||
        plan.earlyLoads.contains(load))
      continue;
    TileMemory storage = storageFor(value);
    if (!canCopy(value, storage) || !isKnownAhead(load, loop, pipeline))
      continue;
    storage.offset = bytes;
    bytes += roundUp(storage.bytes, kAlignment);
    pipeline.tiles.push_back({value, storage});
  }
  return pipeline;
}

KernelLowering::Pipeline KernelLowering::openPipeline(scf::ForOp loop) {
  if (!plan.doubleBufferedLoops.contains(loop))
    return Pipeline();
  Pipeline pipeline = collectCopies(loop);
  // The time of a loop around such a loop goes by inside that one.
  WalkResult inside = loop.getBody()->walk([&](scf::ForOp inner) {
    return collectCopies(inner).tiles.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (pipeline.tiles.empty() || inside.wasInterrupted())
    return Pipeline();
  std::optional<int64_t> place = shared.allocate(2 * pipeline.doubleBuffer.bytes);
  if (!place)
    return Pipeline();
  pipelinedLoops.push_back(loop);
  pipeline.doubleBuffer.offset = *place;
  for (auto &[value, storage] : pipeline.tiles) {
    storage.offset += *place;
    pipelined.insert(value);
  }
  return pipeline;
}

void KernelLowering::startCopies(Pipeline &pipeline, scf::ForOp loop, Value position, Value end) {
  mapping.map(loop.getInductionVar(), position);
  for (Operation *op : pipeline.arithmetic)
    e.clone(*op, mapping);
  Value isBlock = e.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, position, end);
  e.when(isBlock, [&] {
    for (auto [value, storage] : pipeline.tiles)
      copyTile(value, storage);
  });
  closeCopies();
}

void KernelLowering::startFirstCopies(Pipeline &pipeline, scf::ForOp loop) {
  beginPhase();
  startCopies(pipeline, loop, scalar(loop.getLowerBound()), scalar(loop.getUpperBound()));
}

Value KernelLowering::startNextCopies(Pipeline &pipeline, scf::ForOp loop, scf::ForOp lowered) {
  // The offset in bytes of this iteration's buffer.
  Value stage = lowered.getRegionIterArgs().back();
  beginPhase();
  Pipeline next = pipeline;
  Value back = arith::SubIOp::create(e, e.i32(0), stage);
  for (auto [tile, ahead] : llvm::zip(pipeline.tiles, next.tiles)) {
    tile.second.shift = stage;
    ahead.second.shift = back;
    ahead.second.offset += pipeline.doubleBuffer.bytes;
    // This iteration's copies are there before others start: to wait for all is to wait for these.
    barriers.access(tile.second, /*isWrite=*/false, /*layout=*/std::nullopt);
  }
  Value position =
      arith::AddIOp::create(e, lowered.getInductionVar(), lowered.getStep()).getResult();
  startCopies(next, loop, position, lowered.getUpperBound());
  mapping.map(loop.getInductionVar(), lowered.getInductionVar());
  for (auto [value, storage] : pipeline.tiles) {
    storages[value] = storage;
    computed.insert(value);
  }
  return arith::SubIOp::create(e, e.i32(pipeline.doubleBuffer.bytes), stage);
}

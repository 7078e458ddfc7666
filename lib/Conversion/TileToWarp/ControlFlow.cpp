//===- ControlFlow.cpp - loops, what they carry, and branches -------------===//
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

LogicalResult KernelLowering::lowerFor(scf::ForOp loop) {
  auto isCarriedTile = [](Value value) { return bool(tileType(value)); };
  // Tiles in memory have one allocation for all iterations; accumulators and scalars are carried.
  SmallVector<Value> initial;
  for (auto [argument, init, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    if (!isCarriedTile(argument)) {
      initial.push_back(scalar(init));
    } else if (residency.of(argument) == Residency::Registers) {
      // The products of a deferred initial value are computed here.
      keepInRegisters(init, argument);
      llvm::append_range(initial, registers[argument]);
      if (auto read = init.getDefiningOp<ReadOp>())
        if (auto state = read.getBuffer().getDefiningOp<BufferOp>();
            state && lastLoopOf(state) == loop) {
          const TileMemory &storage = storages[read.getBuffer()];
          (storage.space == Space::Shared ? shared : workspace).free(storage.offset);
        }
    } else {
      beginPhase();
      TileMemory storage = allocateFor(result);
      writeTile(init, storage, 0, storage.rows, storage.columns);
      storages[argument] = storage;
      computed.insert(argument);
      computed.insert(result);
    }
  }
  passOnRegisters(loop);
  Pipeline pipeline = openPipeline(loop);
  if (!pipeline.tiles.empty()) {
    startFirstCopies(pipeline, loop);
    initial.push_back(e.i32(0));
  }
  auto lowered = scf::ForOp::create(e, scalar(loop.getLowerBound()), scalar(loop.getUpperBound()),
                                    scalar(loop.getStep()), initial);
  auto unpack = [&](Value value, ValueRange values, unsigned &next) {
    if (!isCarriedTile(value))
      mapping.map(value, values[next++]);
    else if (residency.of(value) == Residency::Registers)
      for (Value &accumulator : registers[value])
        accumulator = values[next++];
  };
  barriers.beginLoop(pipeline.doubleBuffer);
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(lowered.getBody());
    mapping.map(loop.getInductionVar(), lowered.getInductionVar());
    unsigned next = 0;
    for (Value argument : loop.getRegionIterArgs())
      unpack(argument, lowered.getRegionIterArgs(), next);
    Value stage;
    if (!pipeline.tiles.empty())
      stage = startNextCopies(pipeline, loop, lowered);
    if (failed(lowerBlock(*loop.getBody())))
      return failure();
    lowerYield(loop, stage);
    freeAfter(*loop.getBody()->getTerminator());
  }
  barriers.endLoop();
  if (!pipeline.tiles.empty())
    shared.free(pipeline.doubleBuffer.offset);
  // What the last phase inside computed with is not known here.
  bindProgramIndices(/*opaque=*/false);
  unsigned next = 0;
  for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults())) {
    if (isCarriedTile(argument) && residency.of(argument) == Residency::Registers) {
      Values accumulators = registers[argument];
      registers.erase(argument);
      registers[result] = accumulators;
      computed.insert(result);
    }
    unpack(result, lowered.getResults(), next);
  }
  return success();
}

/// What the loop alone has of a value from before it are the registers of what it carries.
void KernelLowering::passOnRegisters(scf::ForOp loop) {
  for (Value init : loop.getInitArgs()) {
    bool isLoops = llvm::all_of(init.getUsers(), [&](Operation *user) { return user == loop; });
    if (isLoops && init.getParentBlock() == loop->getBlock())
      registers.erase(init);
  }
}

// All new values are there before the first old one goes.
void KernelLowering::lowerYield(scf::ForOp loop, Value stage) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  e.setLoc(yield.getLoc());
  SmallVector<Value> carried;
  SmallVector<std::pair<Value, Values>> readHere;
  for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
    if (!tileType(argument)) {
      carried.push_back(scalar(value));
    } else if (residency.of(argument) == Residency::Registers) {
      Values accumulators = evaluateInRegisters(value);
      llvm::append_range(carried, accumulators);
      // What still has registers is read by another new value, too.
      if (registers.contains(argument))
        readHere.emplace_back(argument, accumulators);
      else
        registers[argument] = accumulators;
    }
  }
  Writes writes;
  for (auto [argument, yielded] : llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands()))
    if (tileType(argument) && residency.of(argument) != Residency::Registers)
      replaceCarried(argument, yielded, writes);
  for (auto &write : writes)
    write();
  for (auto &[argument, accumulators] : readHere)
    registers[argument] = accumulators;
  if (stage)
    carried.push_back(stage);
  // A loop that carries nothing has its terminator already.
  if (!carried.empty())
    scf::YieldOp::create(e, carried);
}

void KernelLowering::replaceCarried(Value argument, OpOperand &yielded, Writes &writes) {
  TileMemory storage = storages[argument];
  Value value = yielded.get();
  int64_t length = storage.rows * storage.columns;
  if (storage.isVector() && length <= GPUDescription::warpSize * options.warps)
    return replaceVector(argument, value, writes);
  if (residency.replacesInPlace(yielded)) {
    writes.push_back([=] {
      beginPhase();
      writeTile(value, storage, 0, storage.rows, storage.columns);
    });
    return;
  }
  TileMemory next = storage;
  next.space = Space::Shared;
  next = allocate(next);
  beginPhase();
  writeTile(value, next, 0, next.rows, next.columns);
  writes.push_back([=] {
    beginPhase();
    forCopyRuns(storage, [&](const ThreadElements &owned, Value) {
      recordWrite(storage, owned);
      storeElements(storage, owned, loadElements(next, owned));
    });
    (next.space == Space::Shared ? shared : workspace).free(next.offset);
  });
}

/// A vector's new elements wait in registers, one in each thread that has one.
void KernelLowering::replaceVector(Value argument, Value value, Writes &writes) {
  TileMemory storage = storages[argument];
  // The thread's number may be one of a loop that has ended.
  beginPhase();
  ThreadElements owned;
  (storage.rows == 1 ? owned.columns : owned.rows).base = thread;
  owned.layout = ThreadLayout::runs(options.warps, storage.rows, storage.columns,
                                    storage.columnMajor, /*run=*/1);
  Value condition = e.less(thread, storage.rows * storage.columns);
  Value element =
      e.when(condition, e.f32(0), [&] { return padded(value, owned, evaluate(value, owned)); })[0];
  writes.push_back([=] {
    beginPhase();
    e.when(condition, [&] {
      recordWrite(storage, owned);
      storeElements(storage, owned, element);
    });
  });
}

LogicalResult KernelLowering::lowerIf(scf::IfOp branch) {
  if (branch.getNumResults())
    return branch.emitError("cannot be lowered to a GPU");
  bool hasElse = !branch.getElseRegion().empty();
  auto lowered = scf::IfOp::create(e, scalar(branch.getCondition()), hasElse);
  auto lowerRegion = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(to);
    bindProgramIndices(/*opaque=*/false);
    return lowerBlock(*from);
  };
  barriers.beginBranch();
  if (failed(lowerRegion(branch.thenBlock(), lowered.thenBlock())))
    return failure();
  if (hasElse) {
    barriers.nextBranch();
    if (failed(lowerRegion(branch.elseBlock(), lowered.elseBlock())))
      return failure();
  }
  barriers.endBranch();
  bindProgramIndices(/*opaque=*/false);
  return success();
}

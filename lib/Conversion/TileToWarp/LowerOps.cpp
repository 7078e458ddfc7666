//===- LowerOps.cpp - ops in order, memory for values ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "dialects/Tile/Inputs.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TileMemory KernelLowering::allocate(TileMemory storage, bool inShared) {
  std::optional<int64_t> place = inShared ? shared.allocate(storage.bytes) : std::nullopt;
  if (!place) {
    storage.space = Space::Workspace;
    place = workspace.allocate(storage.bytes);
  }
  storage.offset = place.value_or(0);
  return storage;
}

/// Whether products form features of this value in registers, as their terms.
bool KernelLowering::feedsTerms(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto monomials = dyn_cast<MonomialsOp>(user);
    return monomials && residency.isFormedByProducts(monomials) &&
           llvm::any_of(monomials.getResult().getUses(), [](OpOperand &use) {
             auto dot = dyn_cast<DotOp>(use.getOwner());
             return dot && use.getOperandNumber() == 0 && dot.getLhsTransposed();
           });
  });
}

/// Whether a tile is better kept column-major: as the tensor that it is loaded from, or as the
/// tiles from which it is computed element by element.
bool KernelLowering::prefersColumns(Value value) {
  auto known = storages.find(value);
  if (known != storages.end())
    return known->second.columnMajor;
  if (auto load = value.getDefiningOp<LoadOp>())
    return load.getTransposed() && int64_t(load.getColDim()) != -1;
  // With the source in the other order each element would be read alone.
  if (auto monomials = value.getDefiningOp<MonomialsOp>())
    return prefersColumns(monomials.getSource());
  // All elements of a position at once, for features that are the terms of a product.
  if (feedsTerms(value))
    return true;
  auto map = value.getDefiningOp<MapOp>();
  if (!map || residency.computesFromRegisters(value) || residency.countDotsInside(value))
    return false;
  return llvm::any_of(map.getInputs(), [&](Value input) {
    return sameShape(input, value) && !isVector(input) && prefersColumns(input);
  });
}

TileMemory KernelLowering::storageFor(Value value) {
  TileType type = tileType(value);
  bool columns = type.getColumns() == 1 || prefersColumns(value);
  return TileMemory::of(type.getRows(), type.getColumns(), residency.elementType(value), columns);
}

TileMemory KernelLowering::allocateFor(Value value) {
  TileMemory storage = allocate(storageFor(value));
  allocated.insert(value);
  return storages[value] = storage;
}

// Values whose last use was `op` give their memory back, or their registers.
void KernelLowering::freeAfter(Operation &op) {
  // Behind a loop's end its arguments have what the next iteration begins with.
  bool isEnd = op.hasTrait<OpTrait::IsTerminator>();
  auto isDead = [&](Value value) {
    if (value.getParentBlock() != op.getBlock() || (isEnd && isa<BlockArgument>(value)))
      return false;
    Operation *last = residency.lastUse(value);
    return !last || last == &op || last->isBeforeInBlock(&op);
  };
  SmallVector<Value> dead;
  for (Value value : allocated)
    if (isDead(value))
      dead.push_back(value);
  for (Value value : dead) {
    const TileMemory &storage = storages[value];
    (storage.space == Space::Shared ? shared : workspace).free(storage.offset);
    allocated.erase(value);
  }
  dead.clear();
  for (auto &[value, accumulators] : registers)
    if (isDead(value))
      dead.push_back(value);
  for (Value value : dead)
    registers.erase(value);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

// What is computed from the ids of the thread and the program stays in its phase: kept across
// phases, addresses would take the registers that the products need.
void KernelLowering::beginPhase() {
  barriers.beginPhase(warp::BarrierOp::create(e));
  bindThread();
}

void KernelLowering::bindThread() {
  lane = warp::OpaqueOp::create(e, firstLane);
  thread = e.add(e.multiply(warp, GPUDescription::warpSize), lane);
  bindProgramIndices(/*opaque=*/true);
}

void KernelLowering::recordRead(const TileMemory &storage, const ThreadElements &owned) {
  barriers.access(storage, /*isWrite=*/false,
                  owned.isMirrored ? std::optional<ThreadLayout>() : owned.layout);
}
void KernelLowering::recordWrite(const TileMemory &storage, const ThreadElements &owned) {
  barriers.access(storage, /*isWrite=*/true, owned.layout);
}

void KernelLowering::recordTensor(Value memref, bool isWrite) {
  auto reads = [](Operation *user) {
    return isa<LoadOp, RecurOp, FourierOp, MultiplySpectraOp>(user);
  };
  if (!isInput(memref) && llvm::any_of(memref.getUsers(), reads))
    barriers.accessTensor(cast<BlockArgument>(memref).getArgNumber(), isWrite);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    e.setLoc(op.getLoc());
    int64_t before = shared.requests().size();
    if (failed(lowerOp(op)))
      return failure();
    memoryUse.moments[&op] = {before, int64_t(shared.requests().size())};
    freeAfter(op);
  }
  return success();
}

LogicalResult KernelLowering::lowerOp(Operation &op) {
  if (auto recur = dyn_cast<RecurOp>(op)) // updates a tensor, whoever wants the sums
    return lowerRecur(recur), success();
  if (op.getNumResults() == 1 && tileType(op.getResult(0))) {
    Value result = op.getResult(0);
    Residency resides = residency.of(result);
    if (isa<scf::ForOp>(op))
      return lowerFor(cast<scf::ForOp>(op));
    if (resides == Residency::Deferred || result.use_empty() || computed.contains(result)) {
      if (auto load = dyn_cast<LoadOp>(op); load && resides == Residency::Deferred)
        noteMappedLoad(load);
      return success();
    }
    if (resides == Residency::Registers && !isa<ClusterSumOp>(op)) {
      keepInRegisters(result, result);
      return success();
    }
    if (auto dot = dyn_cast<DotOp>(op); dot && !isMatrixProduct(dot)) {
      lowerVectorProduct(dot);
      return success();
    }
    return TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](ReduceOp reduce) { return lowerReduce(reduce), success(); })
        .Case([&](DiagonalSumsOp sums) { return lowerDiagonalSums(sums), success(); })
        .Case([&](ConcatOp concat) { return lowerConcat(concat), success(); })
        .Case([&](ClusterSumOp sum) { return lowerClusterSum(sum); })
        .Default([&](Operation *) {
          beginPhase();
          TileMemory storage = allocateFor(result);
          bool isCopy = canCopy(result, storage);
          if (isa<LoadOp>(op) && storage.space == Space::Shared)
            memoryUse.loads[&op] = {int64_t(shared.requests().size()) - 1, storage.bytes, isCopy};
          if (isCopy) {
            copyTile(result, storage);
            closeCopies();
          } else {
            writeTile(result, storage, 0, storage.rows, storage.columns);
          }
          computed.insert(result);
          return success();
        });
  }
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](BufferOp buffer) { return lowerBuffer(buffer), success(); })
      .Case([&](WriteOp write) { return lowerWrite(write), success(); })
      .Case([&](CumulativeSumOp sum) {
        if (!sum->use_empty())
          lowerCumulativeSum(sum);
        return success();
      })
      .Case([&](AccumulateOp update) {
        if (!emittedEarly.contains(update))
          lowerAccumulate(update);
        return success();
      })
      .Case([&](StoreOp store) { return lowerStore(store), success(); })
      .Case([&](PowerOfTwoOp op) { return lowerPowerOfTwo(op), success(); })
      .Case([&](FourierRootsOp op) { return lowerFourierRoots(op), success(); })
      .Case([&](FourierOp op) { return lowerFourier(op), success(); })
      .Case([&](MultiplySpectraOp op) { return lowerMultiplySpectra(op), success(); })
      .Case([&](ClusterRankOp rank) {
        mapping.map(rank.getRank(),
                    arith::IndexCastOp::create(e, e.getIndexType(), clusterRank).getResult());
        return success();
      })
      .Case([&](memref::DimOp dim) {
        Value size = tensors[dim.getSource()].sizes[*dim.getConstantIndex()];
        mapping.map(dim.getResult(),
                    arith::IndexCastOp::create(e, e.getIndexType(), size).getResult());
        return success();
      })
      .Case([&](ProgramIdOp id) { return lowerProgramId(id), success(); })
      .Case([&](arith::DivUIOp division) { return lowerQuotient(division); })
      .Case([&](arith::RemUIOp division) { return lowerRemainder(division); })
      .Case([&](memref::LoadOp load) { return lowerScalarLoad(load); })
      .Default([&](Operation *other) -> LogicalResult {
        if (other->getNumRegions() || isa<TileDialect>(other->getDialect()))
          return other->emitError("cannot be lowered to a GPU");
        e.clone(*other, mapping);
        return success();
      });
}

/// A load whose elements are loaded where its users compute with them, and which could be copied.
void KernelLowering::noteMappedLoad(LoadOp load) {
  Value value = load.getResult();
  if (isVector(value) || value.use_empty() || !residency.keepsElementType(load))
    return;
  TileMemory storage = storageFor(value);
  if (canCopy(value, storage))
    memoryUse.loads[load] = {/*request=*/-1, roundUp(storage.bytes, kAlignment), /*isCopy=*/true};
}

/// A whole number of a vector, for index arithmetic.
LogicalResult KernelLowering::lowerScalarLoad(memref::LoadOp load) {
  auto tensor = tensors.find(load.getMemRef());
  bool isWide = load.getType().isInteger(64);
  if (tensor == tensors.end() || load.getIndices().size() != 1 ||
      !(isWide || load.getType().isInteger(32)))
    return load.emitError("expected a whole number of a vector among the kernel's tensors");
  Value offset = tensorOffset(tensor->second, load.getIndices());
  Type word = e.getI32Type(), type = isWide ? Type(VectorType::get(2, word)) : word;
  Value loaded = warp::LoadGlobalOp::create(e, type, tensor->second.base, offset,
                                            /*read_only=*/true);
  if (isWide) {
    Value words[] = {vector::ExtractOp::create(e, loaded, 0),
                     vector::ExtractOp::create(e, loaded, 1)};
    Value low = arith::ExtUIOp::create(e, e.getI64Type(), words[0]);
    Value high = arith::ExtUIOp::create(e, e.getI64Type(), words[1]);
    loaded = arith::OrIOp::create(e, low, arith::ShLIOp::create(e, high, e.i64(32)));
  }
  mapping.map(load.getResult(), loaded);
  return success();
}

void KernelLowering::lowerBuffer(BufferOp buffer) {
  Value result = buffer.getResult();
  TileMemory storage = allocate(bufferStorage(buffer), !plan.workspaceStates.contains(buffer));
  storages[result] = storage;
  if (plan.bf16Copies.contains(buffer)) {
    TileMemory copy = allocate(operandStorage(buffer));
    if (copy.space == Space::Shared)
      bf16Copies[result] = copy;
    else
      workspace.free(copy.offset);
  }
  beginPhase();
  forCopyRuns(storage, [&](const ThreadElements &owned, Value condition) {
    storeBuffer(result, owned, Values(owned.size(), e.f32(0)), {}, 0, condition);
  });
}

void KernelLowering::lowerWrite(WriteOp write) {
  TileMemory storage = storages[write.getBuffer()];
  Value tile = write.getTile(), row = toI32(write.getRow());
  TileType type = tileType(tile);
  beginPhase();
  auto body = [&](const ThreadElements &owned, Value condition) {
    Values values = evaluate(tile, owned);
    // What the buffer has behind this tile stays.
    int64_t limit = owned.warpTile && type.getRows() % 16 ? type.getRows() : 0;
    storeBuffer(write.getBuffer(), owned, values, row, limit, condition);
  };
  if (forProducts(tile, body))
    return;
  forCopyRuns(type.getRows(), type.getColumns(), storage.columnMajor, storage.isVector() ? 1 : 4,
              body);
}

void KernelLowering::lowerConcat(ConcatOp concat) {
  TileMemory storage = allocateFor(concat.getResult());
  beginPhase();
  int64_t row = 0;
  for (Value input : concat.getInputs()) {
    int64_t rows = tileType(input).getRows();
    writeTile(input, storage, row, rows, storage.columns);
    row += rows;
  }
  if (row < storage.rows)
    forCopyRuns(storage.rows - row, storage.columns, storage.columnMajor, 1,
                [&](const ThreadElements &owned, Value) {
                  recordWrite(storage, ThreadElements());
                  storeElements(storage, shifted(owned, e.i32(row), {}),
                                Values(owned.size(), e.f32(0)));
                });
  computed.insert(concat.getResult());
}

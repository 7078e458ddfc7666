//===- LowerOps.cpp - ops in order, memory for values -----------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TileMemory KernelLowering::allocate(int64_t rows, int64_t columns, Type element, bool buffer,
                                    bool fresh) {
  int64_t stride = columns == 1 && rows > 1 ? 1 : e.padded(columns);
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  // Panels narrower than such a row would use few sets of L1, for a power of two lies between
  // their rows: one vector more lets them use all. Buffers are read in blocks of few rows.
  constexpr int64_t powerOfTwo = 256;
  bool narrow = columns > panelVectors(e.machine, buffer ? 1 : rows) * e.width();
  if (narrow && rows > 1 && stride * bytes % powerOfTwo == 0)
    stride += e.width();
  int64_t size = (stride == 1 ? e.padded(rows) : rows * stride) * bytes;
  // Scratch memory has no limit: the caller brings what the kernel asks for.
  int64_t place = *(fresh ? scratch.allocateFresh(size) : scratch.allocate(size));
  TileMemory storage;
  storage.base = scratchPointer;
  storage.offset = place / bytes;
  storage.rows = rows;
  storage.columns = columns;
  storage.rowStride = stride;
  storage.element = element;
  return storage;
}

static int64_t offsetOf(const TileMemory &storage) {
  return storage.offset.constant * (storage.element.getIntOrFloatBitWidth() / 8);
}

TileMemory KernelLowering::allocateFor(Value value) {
  MemoryShape shape = MemoryShape::of(cast<TileType>(value.getType()));
  TileMemory storage = allocate(shape.rows, shape.columns, shape.element);
  allocations[value] = offsetOf(storage);
  return storages[value] = storage;
}

TileMemory KernelLowering::storageOf(Value value) {
  auto known = storages.find(value);
  if (known != storages.end())
    return known->second;
  return viewStorage(value);
}

// Values whose last use was `op` give their memory back. What was computed before the programs,
// or outside the loop at hand, stays.
void KernelLowering::freeAfter(Operation &op) {
  SmallVector<Value> dead;
  for (auto &[value, place] : allocations) {
    if (value.getParentBlock() != op.getBlock() || isa<BufferType>(value.getType()))
      continue;
    Operation *definition = value.getDefiningOp();
    if (!definition || hoisted.contains(definition))
      continue;
    Operation *last = fusion.lastUse(value);
    if (last == &op || last->isBeforeInBlock(&op))
      dead.push_back(value);
  }
  for (Value value : dead) {
    scratch.free(allocations[value]);
    allocations.erase(value);
  }
}

TileMemory KernelLowering::constantTable(DenseElementsAttr values, int64_t rows, int64_t columns) {
  Type element = values.getElementType();
  TileMemory storage;
  Value &address = tables[values];
  if (!address) {
    // A vector that starts at the last number must find memory behind it.
    int64_t size = rows * columns, padding = e.width();
    SmallVector<Attribute> padded(values.getValues<Attribute>());
    padded.append(padding, Attribute(e.getZeroAttr(element)));
    auto type = LLVM::LLVMArrayType::get(element, size + padding);
    std::string name = (kernel.getSymName() + "_table" + Twine(tables.size())).str();
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(module.getBody());
    auto attribute =
        DenseElementsAttr::get(RankedTensorType::get({size + padding}, element), padded);
    auto global = LLVM::GlobalOp::create(e, type, /*isConstant=*/true, LLVM::Linkage::Private, name,
                                         attribute, /*alignment=*/64);
    auto function = scratchPointer.getParentBlock();
    e.setInsertionPointToStart(function);
    address = LLVM::AddressOfOp::create(e, global);
  }
  storage.base = address;
  storage.rows = rows;
  storage.columns = columns;
  storage.rowStride = columns;
  storage.element = element;
  return storage;
}

TileMemory KernelLowering::weightTable(ArrayRef<double> weights, Type element) {
  SmallVector<Attribute> values;
  for (double x : weights)
    values.push_back(e.getFloatAttr(element, x));
  int64_t rows = weights.size();
  return constantTable(DenseElementsAttr::get(RankedTensorType::get({rows}, element), values), rows,
                       1);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (hoisted.contains(&op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (failed(lowerOp(op)))
      return failure();
    freeAfter(op);
  }
  return success();
}

LogicalResult KernelLowering::lowerFor(scf::ForOp loop) {
  // Tiles that the loop carries keep one memory; scalars are carried as values.
  SmallVector<Value> init, carried;
  for (auto [argument, value, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    if (!isa<TileType>(value.getType())) {
      init.push_back(mapping.lookupOrDefault(value));
      carried.push_back(argument);
      continue;
    }
    TileMemory storage = allocateFor(result);
    storages[argument] = storage;
    compute(value, storage);
  }
  auto emitted = scf::ForOp::create(e, mapping.lookupOrDefault(loop.getLowerBound()),
                                    mapping.lookupOrDefault(loop.getUpperBound()),
                                    mapping.lookupOrDefault(loop.getStep()), init);
  mapping.map(loop.getInductionVar(), emitted.getInductionVar());
  for (auto [argument, value] : llvm::zip(carried, emitted.getRegionIterArgs()))
    mapping.map(argument, value);

  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(emitted.getBody());
  PrefetchPlan outer = fetch;
  beginPrefetch(loop);
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  fetch = outer;

  // A tile that is not yet in its memory is copied there; all of them are first read, for one may
  // be the old value of another.
  SmallVector<std::pair<TileMemory, TileMemory>> moves;
  SmallVector<Value> yielded;
  SmallVector<int64_t> temporaries;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [value, argument] : llvm::zip(yield.getOperands(), loop.getRegionIterArgs())) {
    if (!isa<TileType>(value.getType())) {
      yielded.push_back(mapping.lookupOrDefault(value));
      continue;
    }
    TileMemory place = storages[argument];
    bool deferred = fusion.isDeferred(value);
    if (!deferred) {
      TileMemory source = storageOf(value);
      if (isSameMemory(source, place))
        continue;
    }
    auto type = cast<TileType>(value.getType());
    TileMemory temporary = allocate(type.getRows(), type.getColumns(), type.getElementType());
    temporaries.push_back(offsetOf(temporary));
    compute(value, temporary);
    moves.emplace_back(temporary, place);
  }
  for (auto &[source, destination] : moves)
    copy(source, destination);
  if (!init.empty())
    scf::YieldOp::create(e, yielded);

  // What the body still owns ends with it.
  for (int64_t place : temporaries)
    scratch.free(place);
  SmallVector<Value> ended;
  for (auto &[value, place] : allocations)
    if (value.getParentBlock() == loop.getBody())
      ended.push_back(value);
  for (Value value : ended) {
    scratch.free(allocations[value]);
    allocations.erase(value);
  }
  unsigned next = 0;
  for (Value result : loop.getResults())
    if (!isa<TileType>(result.getType()))
      mapping.map(result, emitted.getResult(next++));
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp branch) {
  if (branch.getNumResults() != 0)
    return branch.emitError("scf.if with results is not supported in a kernel");
  auto emitted = scf::IfOp::create(e, mapping.lookupOrDefault(branch.getCondition()),
                                   !branch.getElseRegion().empty());
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(emitted.thenBlock());
  if (failed(lowerBlock(*branch.thenBlock())))
    return failure();
  if (branch.getElseRegion().empty())
    return success();
  e.setInsertionPointToStart(emitted.elseBlock());
  return lowerBlock(*branch.elseBlock());
}

LogicalResult KernelLowering::lowerScalar(Operation &op) {
  if (auto id = dyn_cast<ProgramIdOp>(op)) {
    mapping.map(id.getNumber(), programIds[id.getAxis()]);
    return success();
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto tensor = tensors.find(dim.getSource());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (tensor == tensors.end() || !index || *index >= int64_t(tensor->second.sizes.size()))
      return op.emitError("expected a constant dimension of one of the kernel's tensors");
    mapping.map(dim.getResult(), e.toIndex(tensor->second.sizes[*index]));
    return success();
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto tensor = tensors.find(load.getMemRef());
    Type type = load.getType();
    if (tensor == tensors.end() || load.getIndices().size() != 1 ||
        !(type.isInteger(32) || type.isInteger(64)))
      return op.emitError("expected a whole number of a vector among the kernel's tensors");
    Offset place = scalar(load.getIndices()[0]);
    mapping.map(load.getResult(), e.load(type, tensor->second.base, place));
    return success();
  }
  if (op.getNumRegions() != 0 || !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    return op.emitError("is not supported in a kernel");
  if (isa<arith::ConstantOp>(op)) {
    mapping.map(op.getResult(0), e.constant(cast<arith::ConstantOp>(op).getValue()));
    return success();
  }
  e.clone(op, mapping);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::materialise(Value value) {
  if (value.use_empty() || fusion.isDeferred(value) || fusion.isView(value))
    return success();
  if (storages.contains(value)) // on the way of what it is computed from
    return success();
  if (Value carried = fusion.carriedDestination(value)) {
    // A copy: the map moves what it holds when it grows for the new value.
    TileMemory storage = storages.lookup(carried);
    storages[value] = storage;
    computeHere(value, storage);
    return success();
  }
  computeHere(value, allocateFor(value));
  return success();
}

LogicalResult KernelLowering::lowerOp(Operation &op) {
  e.setLoc(op.getLoc());
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](LoadOp load) { return lowerLoad(load); })
      .Case([&](StoreOp store) { return lowerStore(store); })
      .Case([&](RecurOp recur) { return lowerRecur(recur); })
      .Case([&](PowerOfTwoOp op) { return lowerPowerOfTwo(op), success(); })
      .Case([&](FourierRootsOp op) { return lowerFourierRoots(op); })
      .Case([&](FourierOp op) { return lowerFourier(op); })
      .Case([&](MultiplySpectraOp op) { return lowerMultiplySpectra(op); })
      .Case([&](ContractOp contract) { return lowerContract(contract); })
      .Case([&](AccumulateOp accumulate) { return lowerAccumulate(accumulate); })
      .Case([&](ReduceOp reduce) { return lowerReduce(reduce); })
      .Case([&](BufferOp buffer) {
        BufferType type = buffer.getResult().getType();
        TileMemory storage = allocate(type.getRows(), type.getColumns(), e.getF32Type(),
                                      /*buffer=*/true, /*fresh=*/buffer.getPersistent());
        storages[buffer.getResult()] = storage;
        if (buffer.getPersistent())
          return success();
        allocations[buffer.getResult()] = offsetOf(storage);
        Value zero = e.zero(e.getF32Type());
        int64_t size = isDenseColumn(storage) ? e.padded(storage.rows)
                                              : storage.rows * storage.rowStride.constant;
        e.loop(0, size, e.width(),
               [&](Offset i) { e.store(zero, storage.base, e.add(storage.offset, i)); });
        return success();
      })
      .Case([&](WriteOp write) {
        TileMemory buffer = storageOf(write.getBuffer());
        TileMemory rows = slice(buffer, scalar(write.getRow()), 0, write.getTile().getType());
        compute(write.getTile(), rows);
        return success();
      })
      .Case([&](ConstantColumnOp column) {
        storages[column.getResult()] =
            weightTable(column.getValues(), column.getResult().getType().getElementType());
        return success();
      })
      .Case([&](CumulativeSumOp sum) {
        lowerCumulativeSum(sum);
        return success();
      })
      .Case([&](DiagonalSumsOp sums) {
        lowerDiagonalSums(sums);
        return success();
      })
      .Case([&](SelectRowsOp select) {
        lowerSelectRows(select);
        return success();
      })
      .Case([&](TransposeOp transpose) {
        if (!fusion.isView(transpose.getResult()))
          lowerTranspose(transpose);
        return success();
      })
      .Case([&](PackOp pack) {
        lowerPack(pack);
        return success();
      })
      .Case([&](ConcatOp concat) {
        lowerConcat(concat);
        return success();
      })
      .Case<ConstantOp, IotaOp, DotOp, MapOp, CausalMaskOp, MonomialsOp, ToeplitzOp, SliceOp,
            ReadOp>([&](Operation *op) { return materialise(op->getResult(0)); })
      .Default([&](Operation *op) { return lowerScalar(*op); });
}

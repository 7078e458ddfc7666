//===- Elements.cpp - elements from memory and tensors --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "dialects/Tile/Inputs.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

static Coordinates shiftedAxis(Emitter &e, Coordinates axis, Value shift) {
  if (!shift)
    return axis;
  axis.base = e.add(axis.base, shift);
  axis.run = std::gcd(axis.run, Emitter::divisorOf(shift));
  return axis;
}

/// The phase, modulo `size` rows or columns, of a layout that `shift` moves; empty where it is not
/// known.
static std::optional<int64_t> shiftedPhase(int64_t phase, int64_t size, Value shift) {
  if (!shift)
    return phase;
  if (std::optional<int64_t> constant = getConstantIntValue(shift))
    return (phase + *constant) % size;
  return Emitter::divisorOf(shift) % size ? std::optional<int64_t>() : phase;
}

static std::optional<ThreadLayout> shiftedLayout(ThreadLayout layout, Value row, Value column) {
  std::optional<int64_t> rowPhase = shiftedPhase(layout.rowPhase, layout.rows, row);
  std::optional<int64_t> columnPhase = shiftedPhase(layout.columnPhase, layout.columns, column);
  if (!rowPhase || !columnPhase)
    return std::nullopt;
  layout.rowPhase = *rowPhase;
  layout.columnPhase = *columnPhase;
  return layout;
}

ThreadElements KernelLowering::shifted(const ThreadElements &owned, Value row, Value column) {
  ThreadElements result = owned;
  if (owned.layout)
    result.layout = shiftedLayout(*owned.layout, row, column);
  result.rows = shiftedAxis(e, owned.rows, row);
  result.columns = shiftedAxis(e, owned.columns, column);
  return result;
}

//===----------------------------------------------------------------------===//
// Memory of the kernel
//===----------------------------------------------------------------------===//

Value KernelLowering::address(const TileMemory &storage, const Coordinates &line,
                              const Coordinates &along, int64_t lineOffset, int64_t alongOffset) {
  int64_t bytes = storage.elementBytes();
  Value base = e.add(e.multiply(line.base, storage.pitch * bytes), e.multiply(along.base, bytes));
  base = e.add(base, storage.shift);
  return e.orZero(e.add(base, storage.offset + (lineOffset * storage.pitch + alongOffset) * bytes));
}

void KernelLowering::loadRun(const TileMemory &storage, Value address, int64_t run,
                             Values &elements) {
  Type type = e.runType(storage.element, run);
  Value loaded =
      storage.space == Space::Shared
          ? Value(warp::LoadSharedOp::create(e, type, address))
          : Value(warp::LoadGlobalOp::create(e, type, workspacePointer, e.toI64Address(address),
                                             /*read_only=*/false));
  e.unpack(loaded, elements);
}

void KernelLowering::forRuns(const TileMemory &storage, const ThreadElements &owned, RunBody body) {
  const Coordinates &line = storage.columnMajor ? owned.columns : owned.rows;
  const Coordinates &along = storage.columnMajor ? owned.rows : owned.columns;
  int64_t run = std::min<int64_t>(along.run, 16 / storage.elementBytes());
  SmallVector<int64_t> elements(run);
  for (auto [l, lineOffset] : llvm::enumerate(line.offsets))
    for (int64_t a = 0; a < along.size(); a += run) {
      for (int64_t i = 0; i < run; ++i)
        elements[i] = storage.columnMajor ? (a + i) * owned.columns.size() + int64_t(l)
                                          : int64_t(l) * owned.columns.size() + a + i;
      body(address(storage, line, along, lineOffset, along.offsets[a]), elements);
    }
}

Values KernelLowering::loadElements(const TileMemory &storage, const ThreadElements &owned) {
  recordRead(storage, owned);
  Values values(owned.size());
  forRuns(storage, owned, [&](Value address, ArrayRef<int64_t> elements) {
    Values loaded;
    loadRun(storage, address, elements.size(), loaded);
    for (auto [element, value] : llvm::zip(elements, loaded))
      values[element] = value;
  });
  return values;
}

Values KernelLowering::loadRows(const TileMemory &storage, const ThreadElements &owned, Value shift,
                                int64_t limit) {
  if (!limit)
    return loadElements(storage, shifted(owned, shift, {}));
  Values values;
  for (int64_t r = 0; r < owned.rows.size(); ++r) {
    Value inside = e.less(e.add(owned.rows.base, owned.rows.offsets[r]), limit);
    ThreadElements line = shifted(owned.row(r), shift, {});
    llvm::append_range(values, e.when(inside, Values(line.size(), e.f32(0)),
                                      [&] { return loadElements(storage, line); }));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Tensors and tables
//===----------------------------------------------------------------------===//

Value KernelLowering::tensorOffset(const Tensor &tensor, ValueRange indices) {
  Value offset = e.i64(0);
  for (auto [index, stride] : llvm::zip(indices, tensor.strides))
    offset = e.createOrFold<arith::AddIOp>(
        offset, e.createOrFold<arith::MulIOp>(e.toI64(scalar(index)), stride));
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  return e.createOrFold<arith::MulIOp>(offset, e.i64(bytes));
}

Values KernelLowering::evaluateLoad(LoadOp load, const ThreadElements &wanted) {
  auto known = preloaded.find(load.getResult());
  return known != preloaded.end() ? known->second : loadRuns(load, wanted).front();
}

SmallVector<Values> KernelLowering::loadRuns(LoadOp load, ArrayRef<ThreadElements> wanted) {
  const Tensor &tensor = tensors[load.getMemref()];
  SmallVector<ThreadElements, 0> owned;
  for (const ThreadElements &own : wanted)
    owned.push_back(load.getTransposed() ? own.transposed() : own);
  int64_t run = runOfLoad(load, owned.front());
  recordTensor(load.getMemref(), /*isWrite=*/false);
  auto loadAll = [&](int64_t run) {
    Values all;
    for (const ThreadElements &own : owned)
      llvm::append_range(all, loadTensor(load, own, run));
    return all;
  };
  Values loaded;
  if (run == 1) {
    loaded = loadAll(1);
  } else {
    SmallVector<Type> types(owned.size() * owned.front().size(), e.getF32Type());
    auto branch = scf::IfOp::create(e, types, tensor.aligned, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(e, loadAll(run));
    e.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(e, loadAll(1));
    loaded = Values(branch.getResults());
  }
  SmallVector<Values> results;
  for (const ThreadElements &own : owned) {
    Values part(ArrayRef<Value>(loaded).slice(results.size() * own.size(), own.size()));
    results.push_back(load.getTransposed() ? transposed(part, own) : part);
  }
  return results;
}

/// How many elements along the columns lie together, at a multiple of their size where the tensor's
/// rows are aligned: up to 16 bytes.
int64_t KernelLowering::runOfLoad(LoadOp load, const ThreadElements &owned) {
  const Tensor &tensor = tensors[load.getMemref()];
  TileType type = load.getResult().getType();
  int64_t columns = load.getTransposed() ? type.getRows() : type.getColumns();
  int64_t lastDim = int64_t(tensor.strides.size()) - 1;
  bool known = tensor.element.isBF16() || tensor.element.isF32();
  bool columnsLimited = load.getValid() && int64_t(load.getRowDim()) == -1;
  if (!tensor.aligned || !known || int64_t(load.getColDim()) != lastDim || columnsLimited)
    return 1;
  int64_t most = 16 / (tensor.element.getIntOrFloatBitWidth() / 8);
  int64_t run = std::gcd(std::gcd(owned.columns.run, most), columns);
  return std::gcd(run, knownDivisor(load.getIndices()[lastDim]));
}

/// Loads a thread's elements in the tensor's own orientation, `run` columns at once.
Values KernelLowering::loadTensor(LoadOp load, const ThreadElements &owned, int64_t run) {
  TileType type = load.getResult().getType();
  int64_t rows = load.getTransposed() ? type.getColumns() : type.getRows();
  int64_t columns = load.getTransposed() ? type.getRows() : type.getColumns();
  bool readOnly = isOnlyRead(load.getMemref());
  const Tensor &tensor = tensors[load.getMemref()];
  Value valid = toI32(load.getValid());
  bool validIsRows = int64_t(load.getRowDim()) != -1;
  // The elements of all threads cover multiples of 16 rows and columns.
  auto limit = [&](bool isRows, int64_t size) -> Value {
    if (valid && validIsRows == isRows)
      return valid;
    return size != 1 && size % 16 ? e.i32(size) : Value();
  };
  Value rowLimit = limit(true, rows), columnLimit = limit(false, columns);
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  Value start = tensorOffset(tensor, load.getIndices());
  // In bytes. Loop invariant code motion would keep the distance of each row from the first one.
  auto strideOf = [&](int64_t dimension, int64_t count) -> Value {
    constexpr int64_t kManySteps = 8;
    if (dimension < 0)
      return {};
    Value stride = e.createOrFold<arith::MulIOp>(tensor.strides[dimension], e.i64(bytes));
    bool isKnown = getConstantIntValue(stride).has_value();
    return count > kManySteps && !isKnown ? warp::OpaqueOp::create(e, stride).getResult() : stride;
  };
  Value rowStride = strideOf(load.getRowDim(), owned.rows.size());
  Value columnStride = strideOf(load.getColDim(), owned.columns.size() / run);
  auto step = [&](const Coordinates &axis, int64_t i, Value stride) {
    Value index = e.add(axis.base, axis.offsets[i]);
    return !stride || !index ? e.i64(0) : e.createOrFold<arith::MulIOp>(e.toI64(index), stride);
  };
  Values columnSteps;
  for (int64_t c = 0; c < owned.columns.size(); c += run)
    columnSteps.push_back(step(owned.columns, c, columnStride));
  Values values;
  for (int64_t r = 0; r < owned.rows.size(); ++r) {
    Value rowStep = step(owned.rows, r, rowStride);
    for (int64_t c = 0; c < owned.columns.size(); c += run) {
      Value inside;
      if (rowLimit)
        inside = e.less(e.add(owned.rows.base, owned.rows.offsets[r]), rowLimit);
      if (columnLimit)
        inside = e.both(inside,
                        e.less(e.add(owned.columns.base, owned.columns.offsets[c]), columnLimit));
      Value distance = e.createOrFold<arith::AddIOp>(rowStep, columnSteps[c / run]);
      // The first elements stand in for those that do not exist.
      if (inside)
        distance = e.select(inside, distance, e.i64(0));
      Value offset = e.createOrFold<arith::AddIOp>(start, distance);
      Values elements;
      e.unpack(warp::LoadGlobalOp::create(e, e.runType(tensor.element, run), tensor.base, offset,
                                          readOnly),
               elements);
      for (Value element : elements)
        values.push_back(inside ? e.select(inside, element, e.f32(0)) : element);
    }
  }
  return values;
}

Value KernelLowering::lookup(Value index, ElementsAttr table) {
  return warp::LookupOp::create(e, table.getShapedType().getElementType(), index, table);
}

//===- Write.cpp - elements to memory and tensors -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "ThreadElements.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// The numbers that a thread may load before it computes with the first of them: as many as half of
/// what accumulators may take, which wait in memory by then. Kernels of more than four warps are
/// those with large sums, and half as many spill nothing in them.
static int64_t mostLoadedNumbers(int64_t warps) { return warps > 4 ? 32 : 64; }

void KernelLowering::writeTile(Value value, const TileMemory &storage, int64_t firstRow,
                               int64_t paddedRows, int64_t paddedColumns) {
  if (auto slice = value.getDefiningOp<SliceOp>();
      slice && !computed.contains(value) && residency.leavesSource(slice))
    return writeWindow(slice, storage);
  TileType type = tileType(value);
  // Accumulators cover whole fragments, which may be more than the memory has.
  bool tooMany = roundUp(type.getRows(), 16) > paddedRows;
  auto body = [&](const ThreadElements &owned, Value condition) {
    Values values = padded(value, owned, evaluate(value, owned));
    recordWrite(storage, firstRow ? ThreadElements() : owned);
    int64_t limit = owned.warpTile && tooMany ? paddedRows : 0;
    storeRows(storage, owned, values, firstRow ? e.i32(firstRow) : Value(), limit, condition);
  };
  if (forProducts(value, body))
    return;
  int64_t bytes = readsWideElements(value) ? 4 : storage.elementBytes();
  int64_t run = storage.isVector() ? 1 : 16 / bytes;
  if (!forLoadedRuns(value, paddedRows, paddedColumns, storage.columnMajor, run, body))
    forCopyRuns(paddedRows, paddedColumns, storage.columnMajor, run, body);
}

/// The tensors whose elements the evaluation of `root` loads at the same rows and columns. Maps of
/// maps are a graph, of which each value is visited once.
llvm::SetVector<Value> KernelLowering::loadsOf(Value root) {
  llvm::SetVector<Value> values, loads;
  values.insert(root);
  for (size_t next = 0; next < values.size(); ++next) {
    Value value = values[next];
    if (computed.contains(value) || isVector(value))
      continue;
    if (value.getDefiningOp<LoadOp>())
      loads.insert(value);
    if (auto map = value.getDefiningOp<MapOp>())
      for (Value input : map.getInputs())
        if (sameShape(input, value))
          values.insert(input);
  }
  return loads;
}

bool KernelLowering::forLoadedRuns(Value value, int64_t rows, int64_t columns, bool columnMajor,
                                   int64_t run, ElementsBody body) {
  // Rows that are not aligned are no reason to hold registers: copies move them elsewhere.
  llvm::SetVector<Value> loads;
  if (value.getDefiningOp<MapOp>())
    loads = loadsOf(value);
  ThreadLayout layout = ThreadLayout::runs(options.warps, rows, columns, columnMajor, run);
  int64_t total = rows * columns / run, passes = total / layout.threads();
  if (loads.empty() || layout.lineLength() % run || total % layout.threads() || passes < 2 ||
      passes * run * int64_t(loads.size()) > mostLoadedNumbers(options.warps))
    return false;
  SmallVector<ThreadElements, 0> owned;
  for (int64_t pass = 0; pass < passes; ++pass)
    owned.push_back(elementsOfRun(e, layout, e.add(thread, pass * layout.threads())));
  SmallVector<SmallVector<Values>> loaded;
  for (Value load : loads)
    loaded.push_back(loadRuns(load.getDefiningOp<LoadOp>(), owned));
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (auto [load, values] : llvm::zip(loads, loaded))
      preloaded[load] = values[pass];
    body(owned[pass], {});
  }
  preloaded.clear();
  return true;
}

void KernelLowering::writeWindow(SliceOp window, const TileMemory &storage) {
  TileType type = window.getResult().getType();
  int64_t lines = storage.columnMajor ? type.getColumns() : type.getRows();
  int64_t along = storage.columnMajor ? type.getRows() : type.getColumns();
  // Each run of elements is inside or behind the window, as a whole.
  int64_t run = std::gcd<int64_t>(along, storage.isVector() ? 1 : 16 / storage.elementBytes());
  forCopyRuns(storage.rows, storage.columns, storage.columnMajor, run,
              [&](const ThreadElements &owned, Value condition) {
                const Coordinates &line = storage.columnMajor ? owned.columns : owned.rows;
                const Coordinates &inLine = storage.columnMajor ? owned.rows : owned.columns;
                Value inside = e.both(e.less(line.base, lines), e.less(inLine.base, along));
                Values values = e.when(inside, Values(owned.size(), e.f32(0)),
                                       [&] { return evaluate(window.getResult(), owned); });
                recordWrite(storage, owned);
                e.when(condition, [&] { storeElements(storage, owned, values); });
              });
}

/// Whether f32 in memory is read for it: 16 bytes at a time then are four elements, and the next
/// lane's are next to them.
bool KernelLowering::readsWideElements(Value value) {
  if (computed.contains(value))
    return storages.contains(value) && storages[value].element.isF32();
  Operation *op = value.getDefiningOp();
  if (!op || isa<ReadOp>(op))
    return op;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return tileType(operand) && readsWideElements(operand);
  });
}

Values KernelLowering::evaluateInRegisters(Value value) {
  TileType type = tileType(value);
  beginPhase();
  return evaluate(value, accumulatorElements(type.getRows(), type.getColumns()));
}

void KernelLowering::keepInRegisters(Value value, Value owner) {
  registers[owner] = evaluateInRegisters(value);
  computed.insert(owner);
}

Values KernelLowering::padded(Value tile, const ThreadElements &owned, Values values) {
  TileType type = tileType(tile);
  bool rows = type.getRows() != 1 && type.getRows() % 16;
  bool columns = type.getColumns() != 1 && type.getColumns() % 16;
  if (!rows && !columns)
    return values;
  for (auto [r, row] : llvm::enumerate(owned.rows.offsets)) {
    Value insideRow = rows ? e.less(e.add(owned.rows.base, row), type.getRows()) : Value();
    for (auto [c, column] : llvm::enumerate(owned.columns.offsets)) {
      Value inside =
          columns ? e.both(insideRow, e.less(e.add(owned.columns.base, column), type.getColumns()))
                  : insideRow;
      Value &value = values[r * owned.columns.size() + c];
      value = e.select(inside, value, e.f32(0));
    }
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Memory of the kernel
//===----------------------------------------------------------------------===//

void KernelLowering::storeRun(const TileMemory &storage, Value address, ValueRange values) {
  Value word = e.pack(storage.element, values);
  if (storage.space == Space::Shared)
    warp::StoreSharedOp::create(e, word, address);
  else
    warp::StoreGlobalOp::create(e, word, workspacePointer, e.toI64Address(address));
}

void KernelLowering::storeElements(const TileMemory &storage, const ThreadElements &owned,
                                   ValueRange values) {
  forRuns(storage, owned, [&](Value address, ArrayRef<int64_t> elements) {
    Values words;
    for (int64_t element : elements)
      words.push_back(values[element]);
    storeRun(storage, address, words);
  });
}

void KernelLowering::storeRows(const TileMemory &storage, const ThreadElements &owned,
                               ValueRange values, Value shift, int64_t limit, Value condition) {
  if (!limit) {
    e.when(condition, [&] { storeElements(storage, shifted(owned, shift, {}), values); });
    return;
  }
  for (auto [r, offset] : llvm::enumerate(owned.rows.offsets)) {
    ThreadElements line = owned.row(r);
    Value inside = e.less(e.add(owned.rows.base, offset), limit);
    ValueRange part = values.slice(r * owned.columns.size(), owned.columns.size());
    e.when(e.both(condition, inside),
           [&] { storeElements(storage, shifted(line, shift, {}), part); });
  }
}

void KernelLowering::storeBuffer(Value buffer, const ThreadElements &owned, ValueRange values,
                                 Value row, int64_t limit, Value condition) {
  auto store = [&](const TileMemory &storage) {
    recordWrite(storage, shifted(owned, row, {}));
    storeRows(storage, owned, values, row, limit, condition);
  };
  store(storages[buffer]);
  auto copy = bf16Copies.find(buffer);
  if (copy != bf16Copies.end())
    store(copy->second);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

void KernelLowering::lowerStore(StoreOp store) {
  Value tile = store.getTile();
  TileType type = tileType(tile);
  beginPhase();
  auto body = [&](const ThreadElements &owned, Value condition) {
    Values values = evaluate(tile, owned);
    e.when(condition, [&] { storeGlobal(store, owned, values); });
  };
  if (forProducts(tile, body))
    return;
  forCopyRuns(type.getRows(), type.getColumns(), /*columnMajor=*/false, 1, body);
}

void KernelLowering::storeGlobal(StoreOp store, const ThreadElements &owned, ValueRange values) {
  const Tensor &tensor = tensors[store.getMemref()];
  recordTensor(store.getMemref(), /*isWrite=*/true);
  TileType type = store.getTile().getType();
  Value valid = toI32(store.getValid());
  bool validIsRows = int64_t(store.getRowDim()) != -1;
  auto limit = [&](bool isRows, int64_t size) -> Value {
    if (valid && validIsRows == isRows)
      return valid;
    return owned.warpTile && size % 16 ? e.i32(size) : Value();
  };
  Value rowLimit = limit(true, type.getRows()), columnLimit = limit(false, type.getColumns());
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  Value start = tensorOffset(tensor, store.getIndices());
  auto step = [&](int64_t dimension, Value index) -> Value {
    if (dimension < 0)
      return {};
    Value stride = arith::MulIOp::create(e, tensor.strides[dimension], e.i64(bytes));
    return arith::MulIOp::create(e, e.toI64(e.orZero(index)), stride);
  };
  auto plus = [&](Value a, Value b) -> Value {
    return b ? arith::AddIOp::create(e, a, b).getResult() : a;
  };
  // Two elements at once, where they lie together and rows are aligned.
  int64_t lastDim = int64_t(tensor.strides.size()) - 1;
  bool pairs = tensor.aligned && owned.columns.run % 2 == 0 &&
               int64_t(store.getColDim()) == lastDim &&
               knownDivisor(store.getIndices()[lastDim]) % 2 == 0 && type.getColumns() % 2 == 0;
  for (auto [r, rowOffset] : llvm::enumerate(owned.rows.offsets)) {
    Value row = e.add(owned.rows.base, rowOffset);
    e.when(rowLimit ? e.less(row, rowLimit) : Value(), [&, r = r] {
      Value line = plus(start, step(store.getRowDim(), row));
      ValueRange all = values.slice(r * owned.columns.size(), owned.columns.size());
      auto write = [&](int64_t run) {
        for (int64_t c = 0; c < owned.columns.size(); c += run) {
          Value column = e.add(owned.columns.base, owned.columns.offsets[c]);
          e.when(columnLimit ? e.less(column, columnLimit) : Value(), [&] {
            storeTensor(tensor, all.slice(c, run), plus(line, step(store.getColDim(), column)));
          });
        }
      };
      if (!pairs)
        return write(1);
      auto branch = scf::IfOp::create(e, tensor.aligned, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(e);
      e.setInsertionPointToStart(branch.thenBlock());
      write(2);
      e.setInsertionPointToStart(branch.elseBlock());
      write(1);
    });
  }
}

void KernelLowering::storeTensor(const Tensor &tensor, ValueRange values, Value offset) {
  Value word = e.pack(tensor.element, values);
  warp::StoreGlobalOp::create(e, word, tensor.base, offset);
}

//===- Load.cpp - tensors to tiles -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "lib/TileAnalysis/Divisibility.h"
#include "lib/TileAnalysis/TensorWrites.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

/// Whether `value` serves as left operand of transposed products only, whole rows of it.
static bool isTransposedLhsOnly(Value value, int64_t panel) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (auto dot = dyn_cast<DotOp>(use.getOwner()))
      return use.getOperandNumber() == 0 && dot.getLhsTransposed() &&
             dot.getResult().getType().getColumns() > 1;
    auto slice = dyn_cast<SliceOp>(use.getOwner());
    return slice &&
           slice.getResult().getType().getRows() == cast<TileType>(value.getType()).getRows() &&
           knownDivisor(slice.getColumn()) % panel == 0 &&
           isTransposedLhsOnly(slice.getResult(), panel);
  });
}

// A column of weights is at a large power of two from the next; the elements that a register
// tile broadcasts should lie side by side instead. Worth it where the load is done once.
int64_t KernelLowering::panelWidth(LoadOp load) {
  constexpr int64_t panel = 8;
  TileType type = load.getResult().getType();
  bool once = hoisted.contains(load);
  bool fits = type.getColumns() % panel == 0 && isTransposedLhsOnly(load.getResult(), panel);
  return once && fits ? panel : 0;
}

void KernelLowering::loadPanels(const Source &source, const TileMemory &destination) {
  e.loop(0, destination.columns, destination.panelWidth, [&](Offset column) {
    e.loop(0, destination.rows, 1, [&](Offset row) {
      Value lanes = loadConverted(source, row, column, destination.panelWidth, destination.element);
      e.store(lanes, destination.base, address(destination, row, column));
    });
  });
}

//===----------------------------------------------------------------------===//
// Tensors in place
//===----------------------------------------------------------------------===//

/// Whether a product takes each row of its operand once, for a result of one row or column.
static bool readsEachRowOnce(OpOperand &use) {
  auto dot = dyn_cast<DotOp>(use.getOwner());
  if (!dot || dot.getLhsTriangle() != Triangle::None)
    return false;
  TileType result = dot.getResult().getType();
  return use.getOperandNumber() == 0 ? dot.getLhsTransposed() && isColumnVector(result)
                                     : use.getOperandNumber() == 1 && result.getRows() == 1;
}

// Weights of heads, of which a step with one position reads each row once: to copy them would take
// as long as to multiply by them.
bool KernelLowering::isReadInPlace(LoadOp load, const Tensor &tensor) {
  Value loaded = load.getResult();
  TileType type = load.getResult().getType();
  bool wholeRows =
      load.getColDim() == int64_t(tensor.strides.size()) - 1 && type.getColumns() % e.width() == 0;
  if (hoisted.contains(load) || load.getTransposed() || load.getValid() || !wholeRows ||
      tensor.element != type.getElementType() || !llvm::all_of(loaded.getUses(), readsEachRowOnce))
    return false;
  Operation *last = fusion.lastUse(loaded);
  return !mayWriteBetween(load, last, load.getMemref()) && !mayWrite(last, load.getMemref());
}

//===----------------------------------------------------------------------===//
// Rows, transposed rows, elements
//===----------------------------------------------------------------------===//

static Offset sourceAddress(Emitter &e, const Source &source, Offset row, Offset column) {
  Offset offset = source.start;
  offset = e.add(offset, e.mul(row, source.rowStride));
  return e.add(offset, e.mul(column, source.columnStride));
}

/// `lanes` elements along the contiguous dimension, or one where it is 0.
Value KernelLowering::loadConverted(const Source &source, Offset row, Offset column, int64_t lanes,
                                    Type element) {
  Offset offset = sourceAddress(e, source, row, column);
  const Tensor &tensor = source.tensor;
  Value loaded = lanes ? e.loadVector(tensor.element, tensor.base, offset, lanes)
                       : e.load(tensor.element, tensor.base, offset);
  return e.toStorage(e.fromStorage(loaded), element);
}

/// The map that alone reads the loaded rows and is known then, if there is one: they pass through
/// it on their way.
MapOp KernelLowering::mapOfRows(LoadOp load) {
  TileType type = load.getResult().getType();
  auto map = load.getResult().hasOneUse() ? dyn_cast<MapOp>(*load->user_begin()) : MapOp();
  if (!map || map->getBlock() != load->getBlock() || map.getInputs().size() != 1 ||
      map.getResult().getType() != type || type.getColumns() % e.width() != 0 ||
      hoisted.contains(load) || hoisted.contains(map))
    return {};
  Value result = map.getResult();
  if (result.use_empty() || fusion.isDeferred(result) || fusion.carriedDestination(result))
    return {};
  for (Operation &op : map.getBody().front())
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &map.getBody() && !matchPattern(operand, m_Constant()))
        return {};
  return map;
}

void KernelLowering::loadRows(const Source &source, const TileMemory &destination, MapOp map) {
  auto copy = [&](Offset row, Offset column, int64_t vectors, int64_t lanes) {
    Vectors values;
    for (int64_t v = 0; v < vectors; ++v)
      values.push_back(
          loadConverted(source, row, e.add(column, v * lanes), lanes, destination.element));
    if (map)
      values = applyMap(map, {values}, 1, vectors);
    for (int64_t v = 0; v < vectors; ++v)
      e.store(values[v], destination.base, address(destination, row, e.add(column, v * lanes)));
  };
  int64_t columns = destination.columns, whole = columns / e.width() * e.width();
  e.loop(0, source.validRows, 1, [&](Offset row) {
    int64_t block = std::min<int64_t>(4 * e.width(), whole);
    int64_t blocks = block ? whole / block * block : 0;
    e.loop(0, blocks, std::max<int64_t>(block, 1),
           [&](Offset column) { copy(row, column, block / e.width(), e.width()); });
    // The tail in powers of two: nothing outside the tensor is read.
    for (int64_t column = blocks, lanes = e.width(); lanes >= 1; lanes /= 2)
      for (; column + lanes <= columns; column += lanes)
        copy(row, column, 1, lanes);
  });
  if (!source.needsZeros)
    return;
  Value zero = e.zero(destination.element);
  if (map)
    zero = applyMap(map, {{zero}}, 1, 1).front();
  e.loop(source.validRows, destination.rows, 1, [&](Offset row) {
    e.loop(0, columns, e.width(), [&](Offset column) {
      e.store(zero, destination.base, address(destination, row, column));
    });
  });
}

// Blocks of W rows of the tensor become W columns in registers.
void KernelLowering::loadTransposed(const Source &source, const TileMemory &destination) {
  int64_t width = e.width(), features = destination.rows;
  if (features < width)
    return loadElements(source, 0, destination);
  Offset whole = e.mul(e.div(source.validColumns, width), width);
  auto block = [&](Offset feature, Offset token) {
    Offset offset = sourceAddress(e, source, feature, token);
    transposeSquare(
        e.pointer(source.tensor.base, offset, source.tensor.element), source.columnStride,
        source.tensor.element,
        e.pointer(destination.base, address(destination, feature, token), destination.element),
        destination);
  };
  e.loop(0, whole, width, [&](Offset token) {
    e.loop(0, features / width * width, width, [&](Offset feature) { block(feature, token); });
    if (features % width) // The last block overlaps the one before.
      block(features - width, token);
  });
  loadElements(source, whole, destination);
}

void KernelLowering::loadElements(const Source &source, Offset firstColumn,
                                  const TileMemory &destination) {
  // Whole vectors of zeros first, as rows are padded to them, then the elements that exist.
  Value zero = e.zero(destination.element);
  auto clear = [&](Offset row) {
    e.loop(firstColumn, destination.columns, e.width(), [&](Offset column) {
      e.store(zero, destination.base, address(destination, row, column));
    });
  };
  bool isRagged = source.needsZeros && (!source.validColumns.isStatic() ||
                                        source.validColumns.constant < destination.columns);
  e.loop(0, source.validRows, 1, [&](Offset row) {
    if (isRagged)
      clear(row);
    e.loop(firstColumn, source.validColumns, 1, [&](Offset column) {
      e.store(loadConverted(source, row, column, 0, destination.element), destination.base,
              address(destination, row, column));
    });
  });
  if (source.needsZeros)
    e.loop(source.validRows, destination.rows, 1, [&](Offset row) { clear(row); });
}

//===----------------------------------------------------------------------===//
// tile.load
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerLoad(LoadOp load) {
  auto found = tensors.find(load.getMemref());
  if (found == tensors.end())
    return load.emitError("expected one of the kernel's tensors");
  const Tensor &tensor = found->second;
  TileType type = load.getResult().getType();
  if (!isa<FloatType>(tensor.element) || !isa<FloatType>(type.getElementType()))
    return load.emitError("expected floating-point elements");
  if (load.getResult().use_empty())
    return success();

  int64_t last = int64_t(tensor.strides.size()) - 1;
  int64_t rowDim = load.getRowDim(), colDim = load.getColDim();
  Source source{tensor, 0, 0, 0, type.getRows(), type.getColumns()};
  for (auto [index, stride] : llvm::zip(load.getIndices(), tensor.strides))
    source.start = e.add(source.start, e.mul(scalar(index), stride));
  bool validIsRows = rowDim != -1;
  if (load.getTransposed()) {
    std::swap(rowDim, colDim);
    validIsRows = !validIsRows;
  }
  if (load.getValid()) {
    Offset valid = e.max(scalar(load.getValid()), 0);
    Offset &limit = validIsRows ? source.validRows : source.validColumns;
    limit = e.min(valid, limit);
  }
  if (rowDim != -1)
    source.rowStride = tensor.strides[rowDim];
  if (colDim != -1)
    source.columnStride = tensor.strides[colDim];

  if (isReadInPlace(load, tensor)) {
    TileMemory &rows = storages[load.getResult()];
    rows = {tensor.base, source.start, type.getRows(), type.getColumns(), source.rowStride};
    rows.element = tensor.element;
    return success();
  }

  bool limited = load.getValid() != nullptr;
  bool wholeColumns = !limited || validIsRows, wholeRows = !limited || !validIsRows;
  bool byRows = colDim == last && wholeColumns && !isColumnVector(type);
  MapOp map = byRows ? mapOfRows(load) : MapOp();
  Value loaded = map ? map.getResult() : load.getResult();
  TilePart part = needed.of(loaded);
  bool isLimited = limited && (validIsRows ? part.rows : part.columns) == load.getValid();
  source.needsZeros = !isLimited || hoisted.contains(load);
  TileMemory destination = allocateFor(loaded);
  if (isColumnVector(type)) {
    // Contiguous like a row, and read like one.
    TileMemory row = destination;
    std::swap(row.rows, row.columns);
    row.rowStride = e.padded(row.columns);
    Source columnAsRow{tensor,           source.start,        source.columnStride,
                       source.rowStride, source.validColumns, source.validRows,
                       source.needsZeros};
    if (rowDim == last && wholeRows)
      loadRows(columnAsRow, row);
    else
      loadElements(columnAsRow, 0, row);
  } else if (byRows) {
    if (int64_t panel = panelWidth(load); panel && wholeRows) {
      destination.panelWidth = panel;
      destination.panelRows = type.getRows();
      storages[load.getResult()] = destination;
      loadPanels(source, destination);
    } else {
      loadRows(source, destination, map);
    }
  } else if (rowDim == last && wholeRows) {
    loadTransposed(source, destination);
  } else {
    loadElements(source, 0, destination);
  }
  return success();
}

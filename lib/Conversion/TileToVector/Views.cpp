//===- Views.cpp - windows on memory -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

MemoryShape MemoryShape::of(TileType type) {
  int64_t rows = type.getRows(), columns = type.getColumns();
  if (type.getElementType().getIntOrFloatBitWidth() != 16)
    return {rows, columns, type.getElementType()};
  Type word = IntegerType::get(type.getContext(), 32);
  if (type.getLayout() == Layout::RowPairs)
    return {rows / 2, columns, word, /*rowsPerWord=*/2, /*columnsPerWord=*/1};
  return {rows, columns / 2, word, /*rowsPerWord=*/1, /*columnsPerWord=*/2};
}

Offset tile_to_vector::address(Emitter &e, const TileMemory &storage, Offset row, Offset column) {
  if (!storage.panelWidth)
    return e.add(storage.offset, e.add(e.mul(row, storage.rowStride), column));
  // Element (r, c) of panels: whole panels before, rows of this panel before, lane.
  int64_t width = storage.panelWidth;
  Offset inside = column.isStatic()
                      ? Offset(column.constant % width)
                      : Offset(arith::AndIOp::create(e, e.value(column), e.value(width - 1)));
  Offset panels = e.mul(e.sub(column, inside), storage.panelRows);
  return e.add(e.add(storage.offset, panels), e.add(e.mul(row, width), inside));
}

TileMemory KernelLowering::slice(const TileMemory &storage, Offset row, Offset column,
                                 TileType type) {
  TileMemory result = storage;
  // Slices of panels start at whole panels, so that the start is a plain offset.
  result.offset = storage.panelWidth ? e.add(storage.offset, e.mul(column, storage.panelRows))
                                     : address(storage, row, column);
  MemoryShape shape = MemoryShape::of(type);
  result.rows = shape.rows;
  result.columns = shape.columns;
  return result;
}

TileMemory KernelLowering::viewStorage(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto view = dyn_cast_or_null<SliceOp>(op)) {
    MemoryShape shape = MemoryShape::of(view.getType());
    return slice(storageOf(view.getSource()), e.div(scalar(view.getRow()), shape.rowsPerWord),
                 e.div(scalar(view.getColumn()), shape.columnsPerWord), view.getType());
  }
  if (auto read = dyn_cast_or_null<ReadOp>(op))
    return slice(storageOf(read.getBuffer()), scalar(read.getRow()), 0, read.getResult().getType());
  if (auto mask = dyn_cast_or_null<CausalMaskOp>(op))
    return storageOf(mask.getInput());
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
    TileMemory result = storageOf(transpose.getSource());
    std::swap(result.rows, result.columns);
    result.rowStride = result.columns == 1 ? 1 : e.padded(result.columns);
    return result;
  }
  llvm_unreachable("a value without memory that is no view");
}

Value KernelLowering::loadElement(const TileMemory &storage, Offset row, Offset column) {
  return e.load(storage.element, storage.base, address(storage, row, column));
}

//===- Rearrange.cpp - ops that move elements -*- C++ -*-===//
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

void KernelLowering::lowerTranspose(TransposeOp transpose) {
  if (transpose.getResult().use_empty())
    return;
  TileMemory source = storageOf(transpose.getSource());
  TileMemory destination = allocateFor(transpose.getResult());
  int64_t width = e.width();
  int64_t rows = source.rows / width * width, columns = source.columns / width * width;
  TileExtent extent = extentOf(transpose.getResult()).transposed();
  e.loop(0, e.min(rows, extent.endRow), width, [&](Offset row) {
    e.loop(0, e.min(columns, extent.endColumn), width, [&](Offset column) {
      transposeSquare(
          e.pointer(source.base, address(source, row, column), source.element), source.rowStride,
          source.element,
          e.pointer(destination.base, address(destination, column, row), destination.element),
          destination);
    });
  });
  // What whole blocks leave: the right edge, then the lower one.
  auto elements = [&](int64_t firstRow, int64_t endRow, int64_t firstColumn, int64_t endColumn) {
    e.loop(firstRow, endRow, 1, [&](Offset row) {
      e.loop(firstColumn, endColumn, 1, [&](Offset column) {
        e.store(loadElement(source, row, column), destination.base,
                address(destination, column, row));
      });
    });
  };
  elements(0, rows, columns, source.columns);
  elements(rows, source.rows, 0, source.columns);
}

void KernelLowering::lowerSelectRows(SelectRowsOp select) {
  if (select.getResult().use_empty())
    return;
  TileMemory source = storageOf(select.getSource());
  TileMemory destination = allocateFor(select.getResult());
  int64_t rows = destination.rows;
  SmallVector<int32_t> numbers(select.getRows().begin(), select.getRows().end());
  TileMemory table =
      constantTable(DenseElementsAttr::get(RankedTensorType::get({rows}, e.getI32Type()),
                                           ArrayRef<int32_t>(numbers)),
                    rows, 1);
  Offset endColumn = extentOf(select.getResult()).endColumn;
  e.loop(0, rows, 1, [&](Offset row) {
    Value number = arith::ExtSIOp::create(e, e.getI64Type(), loadElement(table, row, 0));
    if (destination.columns == 1) {
      e.store(loadElement(source, number, 0), destination.base, address(destination, row, 0));
      return;
    }
    e.loop(0, endColumn, e.width(), [&](Offset column) {
      e.store(e.loadVector(source.element, source.base, address(source, number, column)),
              destination.base, address(destination, row, column));
    });
  });
}

void KernelLowering::lowerConcat(ConcatOp concat) {
  if (concat.getResult().use_empty())
    return;
  TileMemory destination = allocateFor(concat.getResult());
  int64_t row = 0;
  for (Value input : concat.getInputs()) {
    auto type = cast<TileType>(input.getType());
    compute(input, slice(destination, row, 0, type));
    row += type.getRows();
  }
}

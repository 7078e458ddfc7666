//===- Rearrange.cpp - ops that move elements -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

// W rows of W lanes, rows and columns exchanged. First 4x4 blocks within 128-bit lanes by
// unpack-like shuffles, then the lanes themselves: all of them are single instructions on x86.
Vectors KernelLowering::transposeRegisters(Vectors rows) {
  int64_t width = e.width();
  auto perLane = [&](Value a, Value b, ArrayRef<int64_t> lane) {
    SmallVector<int64_t> mask;
    for (int64_t base = 0; base < width; base += 4)
      for (int64_t l : lane)
        mask.push_back(base + (l >= 4 ? width + l - 4 : l));
    return e.shuffle(a, b, mask);
  };
  Vectors blocks(width);
  for (int64_t q = 0; q < width; q += 4) {
    Value low01 = perLane(rows[q], rows[q + 1], {0, 4, 1, 5});
    Value high01 = perLane(rows[q], rows[q + 1], {2, 6, 3, 7});
    Value low23 = perLane(rows[q + 2], rows[q + 3], {0, 4, 1, 5});
    Value high23 = perLane(rows[q + 2], rows[q + 3], {2, 6, 3, 7});
    blocks[q] = perLane(low01, low23, {0, 1, 4, 5});
    blocks[q + 1] = perLane(low01, low23, {2, 3, 6, 7});
    blocks[q + 2] = perLane(high01, high23, {0, 1, 4, 5});
    blocks[q + 3] = perLane(high01, high23, {2, 3, 6, 7});
  }
  // blocks[4 g + i], lane l holds column 4 l + i of the rows 4 g .. 4 g + 3. Taking the even and
  // the odd lanes of pairs, log2 times, sorts the lanes by g.
  int64_t lanes = width / 4;
  auto takeLanes = [&](Value a, Value b, int64_t first) {
    SmallVector<int64_t> mask;
    for (int64_t source = 0; source < 2; ++source)
      for (int64_t lane = first; lane < lanes; lane += 2)
        for (int64_t l = 0; l < 4; ++l)
          mask.push_back(source * width + lane * 4 + l);
    return e.shuffle(a, b, mask);
  };
  Vectors result(width);
  for (int64_t i = 0; i < 4; ++i) {
    Vectors level;
    for (int64_t g = 0; g < lanes; ++g)
      level.push_back(blocks[4 * g + i]);
    // level holds, for each set of lanes, the vectors of all g; split sets until each has one.
    std::function<void(Vectors, int64_t, int64_t)> split = [&](Vectors group, int64_t first,
                                                               int64_t step) {
      if (group.size() == 1) {
        result[4 * first + i] = group[0];
        return;
      }
      Vectors even, odd;
      for (size_t g = 0; g < group.size(); g += 2) {
        even.push_back(takeLanes(group[g], group[g + 1], 0));
        odd.push_back(takeLanes(group[g], group[g + 1], 1));
      }
      split(even, first, step * 2);
      split(odd, first + step, step * 2);
    };
    split(level, 0, 1);
  }
  return result;
}

void KernelLowering::lowerTranspose(TransposeOp transpose) {
  if (transpose.getResult().use_empty())
    return;
  Storage source = storageOf(transpose.getSource());
  Storage destination = allocateFor(transpose.getResult());
  int64_t width = e.width();
  int64_t rows = source.rows / width * width, columns = source.columns / width * width;
  e.loop(0, rows, width, [&](Offset row) {
    e.loop(0, columns, width, [&](Offset column) {
      Vectors values;
      for (int64_t r = 0; r < width; ++r)
        values.push_back(
            e.loadVector(source.element, source.base, address(source, e.add(row, r), column)));
      values = transposeRegisters(values);
      for (int64_t r = 0; r < width; ++r)
        e.store(values[r], destination.base, address(destination, e.add(column, r), row));
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
  Storage source = storageOf(select.getSource());
  Storage destination = allocateFor(select.getResult());
  int64_t rows = destination.rows;
  SmallVector<int32_t> numbers(select.getRows().begin(), select.getRows().end());
  Storage table =
      constantTable(DenseElementsAttr::get(RankedTensorType::get({rows}, e.getI32Type()),
                                           ArrayRef<int32_t>(numbers)),
                    rows, 1);
  e.loop(0, rows, 1, [&](Offset row) {
    Value number = arith::ExtSIOp::create(e, e.getI64Type(), loadElement(table, row, 0));
    if (destination.columns == 1) {
      e.store(loadElement(source, number, 0), destination.base, address(destination, row, 0));
      return;
    }
    e.loop(0, destination.columns, e.width(), [&](Offset column) {
      e.store(e.loadVector(source.element, source.base, address(source, number, column)),
              destination.base, address(destination, row, column));
    });
  });
}

void KernelLowering::lowerConcat(ConcatOp concat) {
  if (concat.getResult().use_empty())
    return;
  Storage destination = allocateFor(concat.getResult());
  int64_t row = 0;
  for (Value input : concat.getInputs()) {
    auto type = cast<TileType>(input.getType());
    compute(input, slice(destination, row, 0, type));
    row += type.getRows();
  }
}

//===- Evaluate.cpp - expressions at the elements of a grid ---------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

Values KernelLowering::evaluate(Value value, const Grid &grid) {
  if (!computed.contains(value))
    return evaluateOp(value, grid);
  auto inRegisters = registers.find(value);
  if (inRegisters != registers.end())
    return inRegisters->second;
  return loadElements(storages[value], grid);
}

Values KernelLowering::transposed(const Values &values, const Grid &grid) {
  Values result;
  for (int64_t c = 0; c < grid.columns.size(); ++c)
    for (int64_t r = 0; r < grid.rows.size(); ++r)
      result.push_back(values[r * grid.columns.size() + c]);
  return result;
}

Values KernelLowering::evaluateOp(Value value, const Grid &grid) {
  return TypeSwitch<Operation *, Values>(value.getDefiningOp())
      .Case([&](ConstantOp constant) {
        Type type = constant.getResult().getType().getElementType();
        auto same = e.getFloatAttr(type, constant.getValue().convertToDouble());
        return Values(grid.size(), arith::ConstantOp::create(e, same));
      })
      .Case([&](ColumnOp column) { return evaluateColumn(column, grid); })
      .Case([&](PositionsOp positions) { return evaluatePositions(positions, grid); })
      .Case([&](LoadOp load) { return evaluateLoad(load, grid); })
      .Case([&](MapOp map) { return evaluateMap(map, grid); })
      .Case([&](CausalMaskOp mask) { return evaluateMask(mask, grid); })
      .Case([&](ExpandOp expand) { return evaluateExpand(expand, grid); })
      .Case([&](SelectRowsOp select) {
        return evaluateRows(select.getSource(), {}, select.getRows(), 1, {}, grid);
      })
      .Case([&](SliceOp slice) {
        return evaluate(slice.getSource(),
                        shifted(grid, number(slice.getRow()), number(slice.getColumn())));
      })
      .Case([&](ReadOp read) {
        return loadElements(storages[read.getBuffer()], shifted(grid, number(read.getRow()), {}));
      })
      .Case([&](TransposeOp transpose) {
        Grid own = grid.transposed();
        return transposed(evaluate(transpose.getSource(), own), own);
      })
      .Case([&](DotOp dot) { return evaluateDot(dot, grid); });
}

Value KernelLowering::evaluateAt(Value value, Value row, Value column) {
  Grid grid;
  TileType type = tileType(value);
  grid.rows.base = type.getRows() == 1 ? Value() : row;
  grid.columns.base = type.getColumns() == 1 ? Value() : column;
  return evaluate(value, grid)[0];
}

// The body once for each element. An operand with one row or column is repeated.
Values KernelLowering::evaluateMap(MapOp map, const Grid &grid) {
  TileType result = map.getResult().getType();
  if (grid.warpTile)
    multiplySiblings(map.getResult(), grid);
  SmallVector<Values> inputs;
  for (Value input : map.getInputs()) {
    TileType type = tileType(input);
    Grid own = grid;
    bool oneRow = type.getRows() == 1 && result.getRows() > 1;
    bool oneColumn = type.getColumns() == 1 && result.getColumns() > 1;
    if (oneRow)
      own.rows = Coordinates();
    if (oneColumn)
      own.columns = Coordinates();
    if (oneRow || oneColumn)
      own.layout.reset();
    Values values = evaluate(input, own), repeated;
    for (int64_t r = 0; r < grid.rows.size(); ++r)
      for (int64_t c = 0; c < grid.columns.size(); ++c)
        repeated.push_back(values[(oneRow ? 0 : r) * own.columns.size() + (oneColumn ? 0 : c)]);
    inputs.push_back(repeated);
  }
  Block &body = map.getBody().front();
  Values results;
  IRMapping local = mapping;
  for (int64_t i = 0; i < grid.size(); ++i) {
    for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
      local.map(argument, input[i]);
    for (Operation &op : body.without_terminator())
      e.clone(op, local);
    results.push_back(local.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValue()));
  }
  return results;
}

Values KernelLowering::evaluateMask(CausalMaskOp mask, const Grid &grid) {
  Values values = evaluate(mask.getInput(), grid);
  for (int64_t r = 0; r < grid.rows.size(); ++r)
    for (int64_t c = 0; c < grid.columns.size(); ++c) {
      Value row = e.add(grid.rows.base, grid.rows.offsets[r]);
      Value column = e.add(grid.columns.base, grid.columns.offsets[c]);
      Value &value = values[r * grid.columns.size() + c];
      value = outside(mask.getTriangle(), e.known(row), e.known(column), e.f32(0), value);
    }
  return values;
}

Value KernelLowering::outside(Triangle triangle, Value row, Value column, Value value,
                              Value otherwise) {
  Value isOutside = triangle == Triangle::Lower ? e.less(row, column) : e.less(column, row);
  return e.select(isOutside, value, otherwise);
}

Values KernelLowering::evaluatePositions(PositionsOp positions, const Grid &grid) {
  Value start = number(positions.getStart());
  Type type = positions.getResult().getType().getElementType();
  Values row;
  for (int64_t offset : grid.columns.offsets) {
    Value position = e.add(start, e.add(grid.columns.base, offset));
    row.push_back(arith::SIToFPOp::create(e, type, position));
  }
  Values values;
  for (int64_t r = 0; r < grid.rows.size(); ++r)
    values.append(row);
  return values;
}

Values KernelLowering::evaluateColumn(ColumnOp column, const Grid &grid) {
  ArrayRef<double> numbers = column.getValues();
  ElementsAttr table = llvm::all_equal(numbers) ? ElementsAttr() : e.table(numbers);
  Values values;
  for (int64_t offset : grid.rows.offsets) {
    Value row = e.known(e.add(grid.rows.base, offset));
    Value number = e.f32(numbers[0]);
    if (table) {
      Value inside = e.createOrFold<arith::MinSIOp>(row, e.i32(numbers.size() - 1));
      number = lookup(inside, table);
    }
    values.append(grid.columns.size(), number);
  }
  return values;
}

Values KernelLowering::evaluateExpand(ExpandOp expand, const Grid &grid) {
  auto type = cast<ShapedType>(expand.getTable().getType());
  SmallVector<int64_t> table;
  for (int32_t row : expand.getTable().getValues<int32_t>())
    table.push_back(row);
  ArrayRef<double> weights;
  if (auto numbers = expand.getWeights())
    weights = *numbers;
  return evaluateRows(expand.getSource(), number(expand.getFirst()), table, type.getDimSize(1),
                      weights, grid);
}

Values KernelLowering::evaluateRows(Value source, Value first, ArrayRef<int64_t> table,
                                    int64_t factors, ArrayRef<double> weights, const Grid &grid) {
  int64_t rows = table.size() / factors;
  SmallVector<ElementsAttr> columns;
  for (int64_t f = 0; f < factors; ++f) {
    SmallVector<int32_t> column;
    for (int64_t r = 0; r < rows; ++r)
      column.push_back(table[r * factors + f]);
    columns.push_back(e.table(column));
  }
  ElementsAttr weightTable = weights.empty() ? ElementsAttr() : e.table(weights);
  Values values;
  for (int64_t offset : grid.rows.offsets) {
    Value row = e.known(e.add(e.add(first, grid.rows.base), offset));
    // Rows of the padding are never used, but looked up.
    row = e.createOrFold<arith::MinSIOp>(row, e.i32(rows - 1));
    Values products;
    for (ElementsAttr column : columns) {
      Grid line = grid;
      line.rows = Coordinates();
      line.rows.base = lookup(row, column);
      line.layout.reset();
      line.warpTile.reset();
      Values next = evaluate(source, line);
      if (products.empty())
        products = next;
      else
        for (auto [product, factor] : llvm::zip(products, next))
          product = arith::MulFOp::create(e, product, factor);
    }
    if (weightTable) {
      Value weight = lookup(row, weightTable);
      for (Value &product : products)
        product = arith::MulFOp::create(e, product, weight);
    }
    values.append(products);
  }
  return values;
}

//===- Evaluate.cpp - expressions at a thread's elements ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

Values KernelLowering::evaluate(Value value, const ThreadElements &owned) {
  if (!computed.contains(value))
    return evaluateOp(value, owned);
  auto inRegisters = registers.find(value);
  if (inRegisters != registers.end())
    return inRegisters->second;
  return loadElements(storages[value], owned);
}

Values KernelLowering::transposed(const Values &values, const ThreadElements &owned) {
  Values result;
  for (int64_t c = 0; c < owned.columns.size(); ++c)
    for (int64_t r = 0; r < owned.rows.size(); ++r)
      result.push_back(values[r * owned.columns.size() + c]);
  return result;
}

Values KernelLowering::evaluateOp(Value value, const ThreadElements &owned) {
  return TypeSwitch<Operation *, Values>(value.getDefiningOp())
      .Case([&](ConstantOp constant) {
        Type type = constant.getResult().getType().getElementType();
        auto same = e.getFloatAttr(type, constant.getValue().convertToDouble());
        return Values(owned.size(), arith::ConstantOp::create(e, same));
      })
      .Case([&](ConstantColumnOp column) { return evaluateColumn(column, owned); })
      .Case([&](IotaOp iota) { return evaluateIota(iota, owned); })
      .Case([&](LoadOp load) { return evaluateLoad(load, owned); })
      .Case([&](MapOp map) { return evaluateMap(map, owned); })
      .Case([&](CausalMaskOp mask) { return evaluateMask(mask, owned); })
      .Case([&](MonomialsOp monomials) { return evaluateMonomials(monomials, owned); })
      .Case([&](SelectRowsOp select) {
        return evaluateRows(select.getSource(), {}, select.getRows(), 1, {}, owned);
      })
      .Case([&](SliceOp slice) {
        return evaluate(slice.getSource(),
                        shifted(owned, toI32(slice.getRow()), toI32(slice.getColumn())));
      })
      .Case([&](ReadOp read) {
        return loadElements(storages[read.getBuffer()], shifted(owned, toI32(read.getRow()), {}));
      })
      .Case([&](TransposeOp transpose) {
        ThreadElements own = owned.transposed();
        return transposed(evaluate(transpose.getSource(), own), own);
      })
      .Case([&](ToeplitzOp toeplitz) { return evaluateToeplitz(toeplitz, owned); })
      .Case([&](DotOp dot) { return evaluateDot(dot, owned); });
}

Value KernelLowering::evaluateAt(Value value, Value row, Value column) {
  ThreadElements owned;
  TileType type = tileType(value);
  owned.rows.base = type.getRows() == 1 ? Value() : row;
  owned.columns.base = type.getColumns() == 1 ? Value() : column;
  return evaluate(value, owned)[0];
}

/// Products come first where what others load would not find registers beside their accumulators.
SmallVector<unsigned> KernelLowering::orderOfInputs(MapOp map, const ThreadElements &owned) {
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, map.getInputs().size()));
  auto isProduct = [&](unsigned i) {
    return !computed.contains(map.getInputs()[i]) && residency.countDots(map.getInputs()[i]);
  };
  int64_t needed = 0;
  for (auto &[value, accumulators] : registers)
    needed += accumulators.size();
  for (Value input : map.getInputs())
    if (!isVector(input))
      needed += owned.size();
  if (needed > GPUDescription::maxAccumulatorsPerThread)
    std::stable_partition(order.begin(), order.end(), isProduct);
  return order;
}

// The body once for each element. An operand with one row or column is repeated.
Values KernelLowering::evaluateMap(MapOp map, const ThreadElements &owned) {
  TileType result = map.getResult().getType();
  if (owned.warpTile)
    multiplySiblings(map.getResult(), owned);
  SmallVector<Values> inputs(map.getInputs().size());
  for (unsigned i : orderOfInputs(map, owned)) {
    Value input = map.getInputs()[i];
    TileType type = tileType(input);
    ThreadElements own = owned;
    bool oneRow = type.getRows() == 1 && result.getRows() > 1;
    bool oneColumn = type.getColumns() == 1 && result.getColumns() > 1;
    if (oneRow)
      own.rows = Coordinates();
    if (oneColumn)
      own.columns = Coordinates();
    if (oneRow || oneColumn)
      own.layout.reset();
    Values values = evaluate(input, own), repeated;
    for (int64_t r = 0; r < owned.rows.size(); ++r)
      for (int64_t c = 0; c < owned.columns.size(); ++c)
        repeated.push_back(values[(oneRow ? 0 : r) * own.columns.size() + (oneColumn ? 0 : c)]);
    inputs[i] = repeated;
  }
  Block &body = map.getBody().front();
  Values results;
  IRMapping local = mapping;
  for (int64_t i = 0; i < owned.size(); ++i) {
    for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
      local.map(argument, input[i]);
    for (Operation &op : body.without_terminator())
      e.clone(op, local);
    results.push_back(local.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValue()));
  }
  return results;
}

Values KernelLowering::evaluateMask(CausalMaskOp mask, const ThreadElements &owned) {
  Values values = evaluate(mask.getInput(), owned);
  for (int64_t r = 0; r < owned.rows.size(); ++r)
    for (int64_t c = 0; c < owned.columns.size(); ++c) {
      Value row = e.add(owned.rows.base, owned.rows.offsets[r]);
      Value column = e.add(owned.columns.base, owned.columns.offsets[c]);
      Value &value = values[r * owned.columns.size() + c];
      value = outside(mask.getTriangle(), e.orZero(row), e.orZero(column), e.f32(0), value);
    }
  return values;
}

Value KernelLowering::isOutside(Triangle triangle, Value row, Value column) {
  return triangle == Triangle::Lower ? e.less(row, column) : e.less(column, row);
}

Value KernelLowering::outside(Triangle triangle, Value row, Value column, Value value,
                              Value otherwise) {
  return e.select(isOutside(triangle, row, column), value, otherwise);
}

Values KernelLowering::evaluateIota(IotaOp iota, const ThreadElements &owned) {
  Value start = toI32(iota.getStart());
  Type type = iota.getResult().getType().getElementType();
  Values row;
  for (int64_t offset : owned.columns.offsets) {
    Value position = e.add(start, e.add(owned.columns.base, offset));
    row.push_back(arith::SIToFPOp::create(e, type, position));
  }
  Values values;
  for (int64_t r = 0; r < owned.rows.size(); ++r)
    values.append(row);
  return values;
}

Values KernelLowering::evaluateColumn(ConstantColumnOp column, const ThreadElements &owned) {
  ArrayRef<double> numbers = column.getValues();
  ElementsAttr table = llvm::all_equal(numbers) ? ElementsAttr() : e.table(numbers);
  Values values;
  for (int64_t offset : owned.rows.offsets) {
    Value row = e.orZero(e.add(owned.rows.base, offset));
    Value number = e.f32(numbers[0]);
    if (table) {
      Value inside = e.createOrFold<arith::MinSIOp>(row, e.i32(numbers.size() - 1));
      number = lookup(inside, table);
    }
    values.append(owned.columns.size(), number);
  }
  return values;
}

Values KernelLowering::evaluateMonomials(MonomialsOp monomials, const ThreadElements &owned) {
  auto type = cast<ShapedType>(monomials.getTable().getType());
  SmallVector<int64_t> table;
  for (int32_t row : monomials.getTable().getValues<int32_t>())
    table.push_back(row);
  ArrayRef<double> weights;
  if (auto numbers = monomials.getWeights())
    weights = *numbers;
  return evaluateRows(monomials.getSource(), toI32(monomials.getFirst()), table, type.getDimSize(1),
                      weights, owned);
}

Values KernelLowering::evaluateRows(Value source, Value first, ArrayRef<int64_t> table,
                                    int64_t factors, ArrayRef<double> weights,
                                    const ThreadElements &owned) {
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
  for (int64_t offset : owned.rows.offsets) {
    Value row = e.orZero(e.add(e.add(first, owned.rows.base), offset));
    // Rows of the padding are never used, but looked up.
    row = e.createOrFold<arith::MinSIOp>(row, e.i32(rows - 1));
    Values products;
    for (ElementsAttr column : columns) {
      ThreadElements line = owned;
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

/// Entries of one diagonal, such as those of a thread that are eight rows and eight columns apart,
/// are one element.
Values KernelLowering::evaluateToeplitz(ToeplitzOp toeplitz, const ThreadElements &owned) {
  bool ascends = toeplitz.getTransposed();
  int64_t last = toeplitz.getDiagonals().getType().getRows() - 1;
  Value row = e.orZero(owned.rows.base), column = e.orZero(owned.columns.base);
  if (ascends)
    std::swap(row, column);
  Value base = e.createOrFold<arith::SubIOp>(row, column);
  base = e.add(base, toeplitz.getOrigin());
  DenseMap<int64_t, Value> known;
  Values values;
  for (int64_t r : owned.rows.offsets)
    for (int64_t c : owned.columns.offsets) {
      int64_t offset = ascends ? c - r : r - c;
      Value &value = known[offset];
      if (!value) {
        // Entries of the padding are never used, but looked up.
        Value diagonal = e.createOrFold<arith::MinSIOp>(e.add(base, offset), e.i32(last));
        diagonal = e.createOrFold<arith::MaxSIOp>(diagonal, e.i32(0));
        value = evaluateAt(toeplitz.getDiagonals(), diagonal, {});
      }
      values.push_back(value);
    }
  return values;
}

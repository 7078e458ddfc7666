//===- Evaluate.cpp - one register tile of an expression -*- C++ -*-===//
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

Vectors KernelLowering::evaluateTile(Value value, const RegisterTile &tile) {
  Evaluated known;
  SmallVector<DotOp> dots = fusion.productsOf(value);
  evaluateDots(dots, tile, known);
  return evaluateOp(value, tile, known);
}

Vectors KernelLowering::evaluate(Value value, const RegisterTile &tile, Evaluated &known) {
  if (fusion.isDeferred(value))
    return evaluateOp(value, tile, known);
  auto type = cast<TileType>(value.getType());
  return loadTile(storageOf(value), type, type, tile);
}

Vectors KernelLowering::evaluateOp(Value value, const RegisterTile &tile, Evaluated &known) {
  auto computed = known.find(value);
  if (computed != known.end())
    return computed->second;
  Vectors result =
      TypeSwitch<Operation *, Vectors>(value.getDefiningOp())
          .Case([&](ConstantOp constant) {
            Type element = constant.getResult().getType().getElementType();
            double number = constant.getValue().convertToDouble();
            return Vectors(tile.size(), e.splat(e.getFloatAttr(element, number)));
          })
          .Case([&](IotaOp iota) { return evaluateIota(iota, tile); })
          .Case([&](MapOp map) { return evaluateMap(map, tile, known); })
          .Case([&](CausalMaskOp mask) { return evaluateMask(mask, tile, known); })
          .Case([&](MonomialsOp monomials) { return evaluateMonomials(monomials, tile); })
          .Case([&](ToeplitzOp toeplitz) { return evaluateToeplitz(toeplitz, tile); })
          .Case([&](DotOp dot) {
            evaluateDots(dot, tile, known);
            return known[value];
          });
  known[value] = result;
  return result;
}

Vectors KernelLowering::loadTile(const TileMemory &storage, TileType type, TileType result,
                                 const RegisterTile &tile) {
  Vectors values;
  bool oneRow = type.getRows() == 1;
  if (tile.columnAsRow) {
    for (int64_t v = 0; v < tile.vectors; ++v) {
      if (oneRow) {
        values.push_back(v ? values[0] : e.broadcast(loadElement(storage, 0, 0)));
        continue;
      }
      Offset first = e.add(tile.column, v * e.width());
      if (isDenseColumn(storage)) {
        values.push_back(e.loadVector(storage.element, storage.base, address(storage, first, 0)));
        continue;
      }
      // A column of a wider tile. Lanes behind the end repeat an element that exists.
      int64_t lanes = tile.lastLanes && v == tile.vectors - 1 ? tile.lastLanes : e.width();
      Value column = e.zero(storage.element);
      for (int64_t lane = 0; lane < lanes; ++lane)
        column =
            vector::InsertOp::create(e, loadElement(storage, e.add(first, lane), 0), column, lane);
      values.push_back(column);
    }
    return values;
  }
  bool oneColumn = type.getColumns() == 1 && result.getColumns() > 1;
  bool repeatRow = oneRow && result.getRows() > 1;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Offset row = repeatRow ? Offset(0) : e.add(tile.row, r);
      if (r && repeatRow)
        values.push_back(values[v]);
      else if (v && oneColumn)
        values.push_back(values[r * tile.vectors]);
      else if (oneColumn)
        values.push_back(e.broadcast(loadElement(storage, row, 0)));
      else
        values.push_back(e.loadVector(storage.element, storage.base,
                                      address(storage, row, e.add(tile.column, v * e.width()))));
    }
  return values;
}

Vectors KernelLowering::evaluateMap(MapOp map, const RegisterTile &tile, Evaluated &known) {
  SmallVector<Vectors> inputs;
  for (Value input : map.getInputs())
    inputs.push_back(fusion.isDeferred(input)
                         ? evaluateOp(input, tile, known)
                         : loadTile(storageOf(input), cast<TileType>(input.getType()),
                                    map.getResult().getType(), tile));
  return applyMap(map, inputs, tile.rows, tile.vectors);
}

// The body once for each vector, on vectors.
Vectors KernelLowering::applyMap(MapOp map, SmallVector<Vectors> inputs, int64_t rows,
                                 int64_t vectors) {
  // A function is a long chain of operations: those of all vectors of a row are under way at once.
  // Where a multiply-add is several instructions those of one vector are enough.
  bool joins = isExpensive(map) && llvm::isPowerOf2_64(vectors) && e.machine.has(Instructions::Fma);
  int64_t together = joins ? vectors : 1;
  int64_t lanes = together * e.width();
  for (Vectors &input : inputs)
    input = e.joined(input, together);
  Block &body = map.getBody().front();
  DenseMap<Value, Value> captured;
  auto widen = [&](Value scalar) -> Value {
    Value &vector = captured[scalar];
    TypedAttr constant;
    if (!vector)
      vector = matchPattern(scalar, m_Constant(&constant))
                   ? e.splat(constant, lanes)
                   : e.broadcast(mapping.lookupOrDefault(scalar), lanes);
    return vector;
  };
  Vectors results;
  for (int64_t i = 0; i < rows * vectors / together; ++i) {
    DenseMap<Value, Value> values;
    for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
      values[argument] = input[i];
    auto lookup = [&](Value operand) {
      auto known = values.find(operand);
      return known != values.end() ? known->second : widen(operand);
    };
    for (Operation &op : body.without_terminator()) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        values[constant.getResult()] = e.splat(cast<TypedAttr>(constant.getValue()), lanes);
        continue;
      }
      OperationState state(op.getLoc(), op.getName());
      for (Value operand : op.getOperands())
        state.addOperands(lookup(operand));
      for (Type type : op.getResultTypes())
        state.addTypes(e.vectorType(type, lanes));
      state.addAttributes(op.getAttrs());
      Operation *vector = e.create(state);
      for (auto [scalar, wide] : llvm::zip(op.getResults(), vector->getResults()))
        values[scalar] = wide;
    }
    results.push_back(lookup(cast<YieldOp>(body.getTerminator()).getValue()));
  }
  return e.split(results);
}

Vectors KernelLowering::evaluateMask(CausalMaskOp mask, const RegisterTile &tile,
                                     Evaluated &known) {
  Vectors values = evaluate(mask.getInput(), tile, known);
  if (fusion.needsNoZeros(mask))
    return values;
  bool upper = mask.getUpper();
  Value zero = e.zero(cast<VectorType>(values[0].getType()).getElementType());
  int64_t first = upper ? 0 : tile.vectorsBelowDiagonal;
  int64_t end = tile.vectors - (upper ? tile.vectorsAboveDiagonal : 0);
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = first; v < end; ++v) {
      Offset column = e.add(tile.column, v * e.width());
      Value &value = values[r * tile.vectors + v];
      value = inTriangle(mask.getTriangle(), e.add(tile.row, r), column, value, zero);
    }
  return values;
}

Value KernelLowering::inTriangle(Triangle triangle, Offset row, Offset column, Value value,
                                 Value otherwise) {
  Offset diagonal = e.sub(row, column);
  if (triangle == Triangle::Lower)
    return e.select(e.lanesBelow(e.add(diagonal, 1)), value, otherwise);
  return e.select(e.lanesBelow(diagonal), otherwise, value);
}

Vectors KernelLowering::evaluateIota(IotaOp iota, const RegisterTile &tile) {
  Type element = iota.getResult().getType().getElementType();
  Offset start = scalar(iota.getStart());
  // One position for all rows: lanes may be rows here.
  if (iota.getResult().getType().getColumns() == 1) {
    Value number = arith::SIToFPOp::create(e, element, e.value(start));
    return Vectors(tile.size(), e.broadcast(number));
  }
  Vectors row;
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Offset first = e.add(start, e.add(tile.column, v * e.width()));
    Type i64 = e.getI64Type();
    Value lanes = arith::ExtSIOp::create(e, e.vectorType(i64), e.lanes());
    Value numbers = arith::AddIOp::create(e, lanes, e.broadcast(e.value(first)));
    row.push_back(arith::SIToFPOp::create(e, e.vectorType(element), numbers));
  }
  Vectors values;
  for (int64_t r = 0; r < tile.rows; ++r)
    values.append(row);
  return values;
}

Vectors KernelLowering::evaluateMonomials(MonomialsOp monomials, const RegisterTile &tile) {
  TileMemory source = storageOf(monomials.getSource());
  auto tableType = cast<ShapedType>(monomials.getTable().getType());
  int64_t rows = tableType.getDimSize(0), power = tableType.getDimSize(1);
  TileMemory table = constantTable(monomials.getTable(), rows, power);
  Offset first = scalar(monomials.getFirst());
  std::optional<TileMemory> weights;
  if (auto numbers = monomials.getWeights())
    weights = weightTable(*numbers, source.element);
  Vectors results;
  auto factorOf = [&](Offset row, int64_t p) -> Offset {
    return Offset(
        arith::ExtSIOp::create(e, e.getI64Type(), loadElement(table, row, p)).getResult());
  };
  if (tile.columnAsRow) {
    // One position's features: lanes are rows of the table, of which there are none past the end.
    for (int64_t v = 0; v < tile.vectors; ++v) {
      int64_t lanes = tile.lastLanes && v == tile.vectors - 1 ? tile.lastLanes : e.width();
      Value features = e.zero(source.element);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Offset row = e.add(first, e.add(tile.column, v * e.width() + lane));
        Value product = weights ? loadElement(*weights, row, 0) : Value();
        for (int64_t p = 0; p < power; ++p) {
          Value next = loadElement(source, factorOf(row, p), 0);
          product = product ? Value(arith::MulFOp::create(e, product, next)) : next;
        }
        features = vector::InsertOp::create(e, product, features, lane);
      }
      results.push_back(features);
    }
    return results;
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    Offset row = e.add(first, e.add(tile.row, r));
    SmallVector<Offset> factors;
    for (int64_t p = 0; p < power; ++p)
      factors.push_back(factorOf(row, p));
    Value weight;
    if (weights)
      weight = e.broadcast(loadElement(*weights, row, 0));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Offset column = e.add(tile.column, v * e.width());
      Value product = weight;
      for (Offset factor : factors) {
        Value next = e.loadVector(source.element, source.base, address(source, factor, column));
        product = product ? Value(arith::MulFOp::create(e, product, next)) : next;
      }
      results.push_back(product);
    }
  }
  return results;
}

/// A row of the tile is a run of diagonals, in their order or the other way round.
Vectors KernelLowering::evaluateToeplitz(ToeplitzOp toeplitz, const RegisterTile &tile) {
  TileMemory diagonals = storageOf(toeplitz.getDiagonals());
  int64_t last = toeplitz.getDiagonals().getType().getRows() - 1;
  bool ascends = toeplitz.getTransposed();
  auto diagonalOf = [&](Offset row, Offset column) {
    return e.add(ascends ? e.sub(column, row) : e.sub(row, column), toeplitz.getOrigin());
  };
  // Lanes behind the end of a row repeat a diagonal that exists.
  auto gather = [&](Offset row, Offset column) {
    Value vector = e.zero(diagonals.element);
    for (int64_t lane = 0; lane < e.width(); ++lane) {
      Offset diagonal = tile.columnAsRow ? diagonalOf(e.add(column, lane), row)
                                         : diagonalOf(row, e.add(column, lane));
      Offset place = e.max(e.min(diagonal, last), 0);
      vector = vector::InsertOp::create(e, loadElement(diagonals, place, 0), vector, lane);
    }
    return vector;
  };
  bool isWhole = toeplitz.getResult().getType().getColumns() % e.width() == 0 &&
                 isDenseColumn(diagonals) && !tile.columnAsRow;
  SmallVector<int64_t> reversed = llvm::to_vector(llvm::reverse(llvm::seq(e.width())));
  Vectors values;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Offset row = e.add(tile.row, r), column = e.add(tile.column, v * e.width());
      if (!isWhole) {
        values.push_back(gather(row, column));
        continue;
      }
      Offset first = diagonalOf(row, ascends ? column : e.add(column, e.width() - 1));
      Value run = e.loadVector(diagonals.element, diagonals.base, address(diagonals, first, 0));
      values.push_back(ascends ? run : e.shuffle(run, run, reversed));
    }
  return values;
}

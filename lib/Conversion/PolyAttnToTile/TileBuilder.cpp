//===- TileBuilder.cpp - shorthands for building tile kernels -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"

using namespace mlir;
using namespace polyattn;

Value TileBuilder::map(ValueRange inputs, Elements body) {
  int64_t rows = 1, columns = 1;
  for (Value input : inputs) {
    rows = std::max(rows, typeOf(input).getRows());
    columns = std::max(columns, typeOf(input).getColumns());
  }
  auto op = tile::MapOp::create(*this, tileType(rows, columns), inputs);
  OpBuilder::InsertionGuard guard(*this);
  Block *block = createBlock(&op.getBody());
  for (Value input : inputs)
    block->addArgument(typeOf(input).getElementType(), getLoc());
  ElementBuilder elements(getLoc(), *this);
  Value result = body(elements, block->getArguments());
  tile::YieldOp::create(elements, result);
  return op;
}

tile::PrecisionAttr TileBuilder::precisionOf(bool ofMatrices) {
  bool isSaid = precision && (ofMatrices || *precision != tile::Precision::BF16);
  return isSaid ? tile::PrecisionAttr::get(getContext(), *precision) : tile::PrecisionAttr();
}

Value TileBuilder::dot(Value lhs, Value rhs, Value acc, bool lhsTransposed, Triangle triangle,
                       Triangle lhsTriangle, Value bound) {
  int64_t rows = lhsTransposed ? typeOf(lhs).getColumns() : typeOf(lhs).getRows();
  int64_t columns = typeOf(rhs).getColumns();
  return tile::DotOp::create(*this, tileType(rows, columns), lhs, rhs, acc, bound, lhsTransposed,
                             triangle == Triangle::Lower, lhsTriangle == Triangle::Lower,
                             triangle == Triangle::Upper, lhsTriangle == Triangle::Upper,
                             precisionOf(rows > 1 && columns > 1));
}

void TileBuilder::accumulate(Value lhs, Value rhs, Value buffer, Value row, Value bound,
                             Value factor) {
  tile::AccumulateOp::create(*this, lhs, rhs, buffer, row, bound, factor,
                             precisionOf(typeOf(rhs).getColumns() > 1));
}

Value TileBuilder::reduceRows(Value input, tile::ReduceKind kind) {
  return tile::ReduceOp::create(*this, tileType(1, typeOf(input).getColumns()), input, Value(),
                                kind, tile::Axis::Rows, /*lower=*/false, /*upper=*/false);
}

Value TileBuilder::reduceColumns(Value input, Value bound, Triangle triangle,
                                 tile::ReduceKind kind) {
  return tile::ReduceOp::create(*this, tileType(typeOf(input).getRows(), 1), input, bound, kind,
                                tile::Axis::Columns, triangle == Triangle::Lower,
                                triangle == Triangle::Upper);
}

Value TileBuilder::slice(Value source, Value row, int64_t rows) {
  if (rows == typeOf(source).getRows())
    return source;
  return tile::SliceOp::create(*this, tileType(rows, typeOf(source).getColumns()), source, row,
                               index(0));
}

Value TileBuilder::sliceColumns(Value source, Value column, int64_t columns) {
  if (columns == typeOf(source).getColumns())
    return source;
  return tile::SliceOp::create(*this, tileType(typeOf(source).getRows(), columns), source, index(0),
                               column);
}

Value TileBuilder::transpose(Value source) {
  return tile::TransposeOp::create(
      *this, tileType(typeOf(source).getColumns(), typeOf(source).getRows()), source);
}

Value TileBuilder::concat(ValueRange inputs) {
  if (inputs.size() == 1)
    return inputs[0];
  int64_t rows = 0;
  for (Value input : inputs)
    rows += typeOf(input).getRows();
  return tile::ConcatOp::create(*this, tileType(rows, typeOf(inputs[0]).getColumns()), inputs);
}

Value TileBuilder::monomials(Value source, Value first, int64_t count, DenseIntElementsAttr table,
                             ArrayRef<double> weights) {
  return tile::MonomialsOp::create(
      *this, tileType(count, typeOf(source).getColumns()), source, first, table,
      weights.empty() ? DenseF64ArrayAttr() : getDenseF64ArrayAttr(weights));
}

Value TileBuilder::contract(Value gradient, Value source, Value first, Value acc,
                            DenseIntElementsAttr table, ArrayRef<double> weights) {
  return tile::ContractOp::create(*this, typeOf(acc), gradient, source, first, acc, table,
                                  weights.empty() ? DenseF64ArrayAttr()
                                                  : getDenseF64ArrayAttr(weights));
}

Value TileBuilder::scaled(Value tile, double factor) {
  if (factor == 1)
    return tile;
  return map(tile,
             [&](ElementBuilder &e, ValueRange in) { return e.mul(in[0], e.constant(factor)); });
}

Value TileBuilder::add(Value a, Value b) {
  return map({a, b}, [](ElementBuilder &e, ValueRange in) { return e.add(in[0], in[1]); });
}

Value TileBuilder::sub(Value a, Value b) {
  return map({a, b}, [](ElementBuilder &e, ValueRange in) { return e.sub(in[0], in[1]); });
}

Value TileBuilder::mul(Value a, Value b) {
  return map({a, b}, [](ElementBuilder &e, ValueRange in) { return e.mul(in[0], in[1]); });
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

TileBuilder::Values TileBuilder::loop(Value from, Value to, Value step, ValueRange carried,
                                      CarryingBody body) {
  auto op = scf::ForOp::create(*this, from, to, step, carried,
                               [&](OpBuilder &inside, Location loc, Value i, ValueRange in) {
                                 InsertionGuard guard(*this);
                                 restoreInsertionPoint(inside.saveInsertionPoint());
                                 Values out = body(i, in);
                                 scf::YieldOp::create(*this, out);
                               });
  return Values(op.getResults());
}

void TileBuilder::loop(Value from, Value to, Value step, LoopBody body) {
  loop(from, to, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void TileBuilder::branch(Value condition, Branch then, Branch otherwise) {
  auto region = [this](Branch body) {
    return [this, body](OpBuilder &inside, Location) {
      InsertionGuard guard(*this);
      restoreInsertionPoint(inside.saveInsertionPoint());
      body();
      scf::YieldOp::create(*this);
    };
  };
  if (otherwise)
    scf::IfOp::create(*this, condition, region(then), region(otherwise));
  else
    scf::IfOp::create(*this, condition, region(then));
}

void TileBuilder::branch(Value condition, Branch then) { branch(condition, then, Branch()); }

//===- Memory.cpp - tensors and buffers -----------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

/// Where the elements of a tile are in a tensor. Rows and columns are those of the tensor,
/// before a load transposes them.
struct Window {
  Array *tensor;
  SmallVector<int64_t> start;
  int64_t rowDim, columnDim;
  int64_t rows, columns; // those that are in the tensor

  double &at(int64_t row, int64_t column) const {
    SmallVector<int64_t> index = start;
    if (rowDim >= 0)
      index[rowDim] += row;
    if (columnDim >= 0)
      index[columnDim] += column;
    return tensor->at(index);
  }
};

} // namespace

/// The window of an op with these rows and columns, all of them in the tensor.
template <typename Op>
static FailureOr<Window> wholeWindow(Machine &machine, Op op, Window window) {
  if (!window.tensor)
    return op.emitError("the interpreter knows the kernel's own tensors only");
  for (Value index : op.getIndices())
    window.start.push_back(machine.index(index));
  if (window.rows == 0 || window.columns == 0)
    return window;
  for (auto [d, size] : llvm::enumerate(window.tensor->shape)) {
    int64_t first = window.start[d];
    int64_t count = int64_t(d) == window.rowDim      ? window.rows
                    : int64_t(d) == window.columnDim ? window.columns
                                                     : 1;
    if (first < 0 || first + count > size)
      return op.emitError("elements ") << first << " to " << first + count << " of dimension " << d
                                       << " are outside the tensor, whose size there is " << size;
  }
  return window;
}

/// The window of a load or store of a tile of `rows` x `columns`.
template <typename Op>
static FailureOr<Window> windowOf(Machine &machine, Op op, int64_t rows, int64_t columns) {
  Window window{machine.tensor(op.getMemref()), {},   int64_t(op.getRowDim()),
                int64_t(op.getColDim()),        rows, columns};
  int64_t &limited = window.rowDim >= 0 ? window.rows : window.columns;
  int64_t valid = machine.indexOr(op.getValid(), limited);
  if (valid < 0)
    return op.emitError("a negative number of valid rows: ") << valid;
  limited = std::min(limited, valid);
  return wholeWindow(machine, op, std::move(window));
}

LogicalResult reference::run(Machine &machine, tile::LoadOp op) {
  Matrix result(op.getResult().getType());
  bool transposed = op.getTransposed();
  FailureOr<Window> window = windowOf(machine, op, transposed ? result.columns : result.rows,
                                      transposed ? result.rows : result.columns);
  if (failed(window))
    return failure();
  for (int64_t r = 0; r < window->rows; ++r)
    for (int64_t c = 0; c < window->columns; ++c)
      (transposed ? result.at(c, r) : result.at(r, c)) = window->at(r, c);
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::run(Machine &machine, tile::StoreOp op) {
  const Matrix &tile = machine.tile(op.getTile());
  FailureOr<Window> window = windowOf(machine, op, tile.rows, tile.columns);
  if (failed(window))
    return failure();
  Type element = cast<MemRefType>(op.getMemref().getType()).getElementType();
  for (int64_t r = 0; r < window->rows; ++r)
    for (int64_t c = 0; c < window->columns; ++c)
      window->at(r, c) = machine.rounded(element, tile.at(r, c));
  return success();
}

LogicalResult reference::run(Machine &machine, tile::RecurOp op) {
  const Matrix &query = machine.tile(op.getQuery());
  auto memref = cast<MemRefType>(op.getMemref().getType());
  int64_t rank = memref.getRank();
  Matrix result(op.getResult().getType());
  FailureOr<Window> window = wholeWindow(
      machine, op,
      {machine.tensor(op.getMemref()), {}, rank - 2, rank - 1, query.columns, result.columns});
  if (failed(window))
    return failure();
  if (op.getAcc())
    result = machine.tile(op.getAcc());
  auto factorOf = [&](int64_t row) {
    if (!op.getFactor())
      return 1.0;
    const Matrix &factor = machine.tile(op.getFactor());
    return factor.at(0, factor.columns == 1 ? 0 : row);
  };
  for (int64_t r = 0; r < window->rows; ++r) {
    double factor = factorOf(r);
    for (int64_t c = 0; c < window->columns; ++c) {
      double &state = window->at(r, c);
      if (op.getBefore())
        result.at(0, c) += query.at(0, r) * state;
      if (op.getKey())
        state = machine.rounded(memref.getElementType(),
                                factor * state + machine.tile(op.getKey()).at(0, r) *
                                                     machine.tile(op.getValue()).at(0, c));
      if (!op.getBefore())
        result.at(0, c) += query.at(0, r) * state;
    }
  }
  return machine.bindTile(op.getResult(), {std::move(result)});
}

LogicalResult reference::run(Machine &machine, memref::DimOp op) {
  Array *tensor = machine.tensor(op.getSource());
  int64_t dim = machine.index(op.getIndex());
  if (!tensor || dim < 0 || dim >= tensor->rank())
    return op.emitError("there is no such dimension");
  machine.bind(op.getResult(), tensor->shape[dim]);
  return success();
}

LogicalResult reference::run(Machine &machine, memref::LoadOp op) {
  Array *tensor = machine.tensor(op.getMemRef());
  if (!tensor || tensor->rank() != 1 || !isa<IntegerType>(op.getType()))
    return op.emitError("only whole numbers of a vector are loaded outside tiles");
  int64_t i = machine.index(op.getIndices()[0]);
  if (i < 0 || i >= tensor->shape[0])
    return op.emitError("element ") << i << " is outside the tensor";
  machine.bind(op.getResult(), int64_t(tensor->data[i]));
  return success();
}

LogicalResult reference::run(Machine &machine, tile::BufferOp op) {
  tile::BufferType type = op.getResult().getType();
  machine.bind(op.getResult(), std::make_shared<Buffer>(type.getRows(), type.getColumns()));
  return success();
}

LogicalResult reference::checkRows(Operation *op, const Buffer &buffer, int64_t row,
                                   int64_t count) {
  if (row < 0 || row + count > buffer.rows)
    return op->emitError("rows ") << row << " to " << row + count << " are outside a buffer of "
                                  << buffer.rows << " rows";
  return success();
}

LogicalResult reference::run(Machine &machine, tile::ReadOp op) {
  std::shared_ptr<Buffer> buffer = machine.buffer(op.getBuffer());
  Matrix result(op.getResult().getType());
  int64_t row = machine.index(op.getRow());
  if (failed(checkRows(op, *buffer, row, result.rows)))
    return failure();
  for (int64_t r = 0; r < result.rows; ++r)
    for (int64_t c = 0; c < result.columns; ++c)
      result.at(r, c) = buffer->at(row + r, c);
  int64_t writes = buffer->writesTo(row, result.rows);
  return machine.bindTile(op.getResult(), {std::move(result), buffer, row, writes});
}

LogicalResult reference::run(Machine &machine, tile::WriteOp op) {
  std::shared_ptr<Buffer> buffer = machine.buffer(op.getBuffer());
  const Matrix &tile = machine.tile(op.getTile());
  int64_t row = machine.index(op.getRow());
  if (failed(checkRows(op, *buffer, row, tile.rows)))
    return failure();
  Type f32 = Float32Type::get(op.getContext());
  for (int64_t r = 0; r < tile.rows; ++r) {
    ++buffer->writes[row + r];
    for (int64_t c = 0; c < tile.columns; ++c)
      buffer->at(row + r, c) = machine.rounded(f32, tile.at(r, c));
  }
  return success();
}

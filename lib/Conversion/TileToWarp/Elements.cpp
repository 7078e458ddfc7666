//===- Elements.cpp - elements from memory and tensors --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include <numeric>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

int64_t polyattn::tile_to_warp::alignmentOf(Value index) {
  constexpr int64_t any = 1 << 20;
  if (!index)
    return any;
  if (auto constant = getConstantIntValue(index))
    return *constant ? std::gcd(std::abs(*constant), any) : any;
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return 1;
    return std::gcd(alignmentOf(loop.getLowerBound()), alignmentOf(loop.getStep()));
  }
  Operation *op = index.getDefiningOp();
  if (isa<warp::OpaqueOp, arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return alignmentOf(op->getOperand(0));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(alignmentOf(op->getOperand(0)), alignmentOf(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return std::gcd(alignmentOf(op->getOperand(0)) * alignmentOf(op->getOperand(1)), any);
  return 1;
}

static Coordinates shiftedAxis(Emitter &e, Coordinates axis, Value shift) {
  if (!shift)
    return axis;
  axis.base = e.add(axis.base, shift);
  axis.run = std::gcd(axis.run, alignmentOf(shift));
  return axis;
}

Grid KernelLowering::shifted(const Grid &grid, Value row, Value column) {
  Grid result = grid;
  result.rows = shiftedAxis(e, grid.rows, row);
  result.columns = shiftedAxis(e, grid.columns, column);
  return result;
}

//===----------------------------------------------------------------------===//
// Memory of the kernel
//===----------------------------------------------------------------------===//

Value KernelLowering::address(const Storage &storage, const Coordinates &line,
                              const Coordinates &along, int64_t lineOffset, int64_t alongOffset) {
  int64_t bytes = storage.elementBytes();
  Value base = e.add(e.multiply(line.base, storage.pitch * bytes), e.multiply(along.base, bytes));
  return e.known(e.add(base, storage.offset + (lineOffset * storage.pitch + alongOffset) * bytes));
}

void KernelLowering::loadRun(const Storage &storage, Value address, int64_t run, Values &elements) {
  bool narrow = !storage.element.isF32();
  Type word = narrow ? (run == 1 ? e.getI16Type() : e.getI32Type()) : storage.element;
  int64_t words = narrow ? (run + 1) / 2 : run;
  Type type = words == 1 ? word : VectorType::get(words, word);
  Value loaded = storage.space == Space::Shared
                     ? Value(warp::LoadSharedOp::create(e, type, address))
                     : Value(warp::LoadGlobalOp::create(e, type, workspacePointer, e.toI64(address),
                                                        /*read_only=*/false));
  auto float32 = [&](Value bits) -> Value {
    return arith::BitcastOp::create(e, e.getF32Type(), bits);
  };
  for (int64_t i = 0; i < words; ++i) {
    Value element = e.element(loaded, i);
    if (!narrow) {
      elements.push_back(element);
      continue;
    }
    // bf16 is the upper half of f32.
    if (run == 1)
      element = arith::ExtUIOp::create(e, e.getI32Type(), element);
    elements.push_back(float32(arith::ShLIOp::create(e, element, e.i32(16))));
    if (run > 1)
      elements.push_back(float32(arith::AndIOp::create(e, element, e.i32(int32_t(0xffff0000)))));
  }
}

Values KernelLowering::loadElements(const Storage &storage, const Grid &grid) {
  recordRead(storage, grid);
  const Coordinates &line = storage.columnMajor ? grid.columns : grid.rows;
  const Coordinates &along = storage.columnMajor ? grid.rows : grid.columns;
  int64_t run = std::min<int64_t>(along.run, 16 / storage.elementBytes());
  Values values(grid.size());
  for (auto [l, lineOffset] : llvm::enumerate(line.offsets))
    for (int64_t a = 0; a < along.size(); a += run) {
      Values elements;
      loadRun(storage, address(storage, line, along, lineOffset, along.offsets[a]), run, elements);
      for (auto [i, element] : llvm::enumerate(elements))
        values[storage.columnMajor ? (a + i) * grid.columns.size() + l
                                   : l * grid.columns.size() + a + i] = element;
    }
  return values;
}

//===----------------------------------------------------------------------===//
// Tensors and tables
//===----------------------------------------------------------------------===//

Value KernelLowering::tensorOffset(const Tensor &tensor, ValueRange indices) {
  Value offset = e.i64(0);
  for (auto [index, stride] : llvm::zip(indices, tensor.strides))
    offset = e.createOrFold<arith::AddIOp>(
        offset, e.createOrFold<arith::MulIOp>(e.toI64(scalar(index)), stride));
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  return e.createOrFold<arith::MulIOp>(offset, e.i64(bytes));
}

Value KernelLowering::loadGlobal(const Tensor &tensor, Value offset, bool readOnly) {
  bool isBF16 = tensor.element.isBF16();
  Type type = isBF16 ? e.getI16Type() : tensor.element;
  Value element = warp::LoadGlobalOp::create(e, type, tensor.base, offset, readOnly);
  if (!isBF16)
    return e.widen(element);
  Value wide = arith::ExtUIOp::create(e, e.getI32Type(), element);
  return arith::BitcastOp::create(e, e.getF32Type(),
                                  arith::ShLIOp::create(e, wide, e.i32(16)).getResult());
}

Values KernelLowering::evaluateLoad(LoadOp load, const Grid &wanted) {
  TileType type = load.getResult().getType();
  Grid grid = load.getTransposed() ? wanted.transposed() : wanted;
  int64_t rows = load.getTransposed() ? type.getColumns() : type.getRows();
  int64_t columns = load.getTransposed() ? type.getRows() : type.getColumns();
  auto argument = cast<BlockArgument>(load.getMemref());
  bool readOnly = argument.getArgNumber() < kernel.getNumInputs();
  const Tensor &tensor = tensors[argument];
  Value valid = load.getValid() ? e.toI32(scalar(load.getValid())) : Value();
  bool validIsRows = load.getRowDim() != -1;
  // Grids cover multiples of 16.
  auto limit = [&](bool isRows, int64_t size) -> Value {
    if (valid && validIsRows == isRows)
      return valid;
    return size != 1 && size % 16 ? e.i32(size) : Value();
  };
  Value rowLimit = limit(true, rows), columnLimit = limit(false, columns);
  int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
  Value start = tensorOffset(tensor, load.getIndices());
  auto steps = [&](int64_t dimension, const Coordinates &axis) {
    Values result;
    Value stride = dimension < 0
                       ? Value()
                       : e.createOrFold<arith::MulIOp>(tensor.strides[dimension], e.i64(bytes));
    for (int64_t offset : axis.offsets) {
      Value index = e.add(axis.base, offset);
      result.push_back(!stride || !index ? e.i64(0)
                                         : e.createOrFold<arith::MulIOp>(e.toI64(index), stride));
    }
    return result;
  };
  Values rowSteps = steps(load.getRowDim(), grid.rows);
  Values columnSteps = steps(load.getColDim(), grid.columns);
  Values values(grid.size());
  for (int64_t r = 0; r < grid.rows.size(); ++r)
    for (int64_t c = 0; c < grid.columns.size(); ++c) {
      Value inside;
      if (rowLimit)
        inside = e.less(e.add(grid.rows.base, grid.rows.offsets[r]), rowLimit);
      if (columnLimit)
        inside =
            e.both(inside, e.less(e.add(grid.columns.base, grid.columns.offsets[c]), columnLimit));
      Value step = e.createOrFold<arith::AddIOp>(rowSteps[r], columnSteps[c]);
      // The first element stands in for those that do not exist.
      if (inside)
        step = e.select(inside, step, e.i64(0));
      Value value = loadGlobal(tensor, e.createOrFold<arith::AddIOp>(start, step), readOnly);
      if (inside)
        value = e.select(inside, value, e.f32(0));
      values[load.getTransposed() ? c * wanted.columns.size() + r : r * grid.columns.size() + c] =
          value;
    }
  return values;
}

Value KernelLowering::lookup(Value index, ElementsAttr table) {
  return warp::LookupOp::create(e, table.getShapedType().getElementType(), index, table);
}

//===- Copy.cpp - tensors to shared memory --------------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

/// What one copy moves, in bytes: a part of a row, or an element of a vector.
static constexpr int64_t kCopyBytes = 16, kElementBytes = 4;

/// A load, or a window of one that is kept nowhere.
static LoadOp loadOf(Value value) {
  if (auto slice = value.getDefiningOp<SliceOp>()) {
    auto load = slice.getSource().getDefiningOp<LoadOp>();
    return load && !load.getTransposed() && !load.getValid() ? load : LoadOp();
  }
  return value.getDefiningOp<LoadOp>();
}

/// The dimensions of a tensor along lines of memory and from line to line, -1 where there is none.
static std::pair<int64_t, int64_t> copiedDims(LoadOp load, const TileMemory &storage) {
  int64_t rowDim = load.getRowDim(), colDim = load.getColDim();
  return storage.isVector() && colDim == -1 ? std::pair(rowDim, colDim) : std::pair(colDim, rowDim);
}

bool KernelLowering::canCopy(Value value, const TileMemory &storage) {
  return canCopyRows(value, storage) || canCopyElements(value, storage);
}

/// The dimension of a tensor that a vector lies along.
static int64_t vectorDim(LoadOp load, const TileMemory &storage) {
  return tensorDimOf(load, /*alongRows=*/storage.rows > 1);
}

/// Elements of a vector lie in the tensor as far from each other as they like: no row is aligned.
bool KernelLowering::canCopyElements(Value value, const TileMemory &storage) {
  auto load = value.getDefiningOp<LoadOp>();
  return load && storage.isVector() && storage.space == Space::Shared &&
         storage.element == tensors[load.getMemref()].element &&
         storage.elementBytes() == kElementBytes && vectorDim(load, storage) >= 0 &&
         (!load.getValid() || vectorDim(load, storage) == int64_t(load.getRowDim()));
}

bool KernelLowering::canCopyRows(Value value, const TileMemory &storage) {
  LoadOp load = loadOf(value);
  if (!load)
    return false;
  const Tensor &tensor = tensors[load.getMemref()];
  int64_t lastDim = int64_t(tensor.strides.size()) - 1;
  auto [alongDim, lineDim] = copiedDims(load, storage);
  if (!tensor.aligned || storage.space != Space::Shared || storage.element != tensor.element ||
      alongDim != lastDim)
    return false;
  TileType type = tileType(value);
  // A vector is one line, all of which the tensor has.
  if (storage.isVector() ? lineDim != -1 || load.getValid() || value != load.getResult()
                         : lineDim == -1 || storage.columnMajor != load.getTransposed())
    return false;
  int64_t perCopy = kCopyBytes / storage.elementBytes();
  int64_t along = storage.columnMajor ? type.getRows() : type.getColumns();
  auto slice = value.getDefiningOp<SliceOp>();
  return along % perCopy == 0 && knownDivisor(load.getIndices()[lastDim]) % perCopy == 0 &&
         (!slice || knownDivisor(slice.getColumn()) % perCopy == 0);
}

void KernelLowering::copyTile(Value value, const TileMemory &storage) {
  if (canCopyRows(value, storage))
    copyRows(value, storage);
  else
    copyElements(value.getDefiningOp<LoadOp>(), storage);
}

void KernelLowering::copyElements(LoadOp load, const TileMemory &storage) {
  const Tensor &tensor = tensors[load.getMemref()];
  barriers.copy(storage);
  Value start = tensorOffset(tensor, load.getIndices());
  Value stride =
      arith::MulIOp::create(e, tensor.strides[vectorDim(load, storage)], e.i64(kElementBytes));
  bool isRow = storage.rows == 1;
  TileType type = load.getType();
  int64_t length = isRow ? type.getColumns() : type.getRows();
  Value valid = toI32(load.getValid());
  forCopyRuns(storage.rows, storage.columns, storage.columnMajor, /*run=*/1,
              [&](const ThreadElements &owned, Value) {
                const Coordinates &line = storage.columnMajor ? owned.columns : owned.rows;
                const Coordinates &along = storage.columnMajor ? owned.rows : owned.columns;
                Value element = e.orZero(isRow ? owned.columns.base : owned.rows.base);
                Value inside = valid ? e.less(element, valid) : Value();
                if ((isRow ? storage.columns : storage.rows) > length)
                  inside = e.both(inside, e.less(element, length));
                Value count = inside ? e.select(inside, e.i32(kElementBytes), e.i32(0))
                                     : e.i32(kElementBytes);
                Value offset = e.createOrFold<arith::MulIOp>(e.toI64(element), stride);
                warp::CopyAsyncOp::create(e, tensor.base, arith::AddIOp::create(e, start, offset),
                                          address(storage, line, along, 0, 0), count,
                                          /*element=*/true);
              });
}

void KernelLowering::copyRows(Value value, const TileMemory &storage) {
  LoadOp load = loadOf(value);
  const Tensor &tensor = tensors[load.getMemref()];
  auto branch = scf::IfOp::create(e, tensor.aligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(branch.elseBlock());
  writeTile(value, storage, 0, storage.rows, storage.columns);

  e.setInsertionPointToStart(branch.thenBlock());
  barriers.copy(storage);
  TileType type = tileType(value);
  int64_t bytes = storage.elementBytes();
  int64_t alongSize = storage.columnMajor ? type.getRows() : type.getColumns();
  int64_t lineSize = storage.columnMajor ? type.getColumns() : type.getRows();
  Value valid = toI32(load.getValid());
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(e.toI64(scalar(index)));
  if (auto slice = value.getDefiningOp<SliceOp>()) {
    auto shift = [&](int64_t dimension, Value by) {
      indices[dimension] = arith::AddIOp::create(e, indices[dimension], e.toI64(scalar(by)));
    };
    shift(load.getRowDim(), slice.getRow());
    shift(load.getColDim(), slice.getColumn());
  }
  Value start = tensorOffset(tensor, indices);
  int64_t lineDim = copiedDims(load, storage).second;
  Value stride = lineDim == -1
                     ? e.i64(0)
                     : arith::MulIOp::create(e, tensor.strides[lineDim], e.i64(bytes)).getResult();
  forCopyRuns(storage.rows, storage.columns, storage.columnMajor, kCopyBytes / bytes,
              [&](const ThreadElements &owned, Value) {
                const Coordinates &line = storage.columnMajor ? owned.columns : owned.rows;
                const Coordinates &along = storage.columnMajor ? owned.rows : owned.columns;
                // Lines and parts of lines that the tensor has not are zero.
                Value inside;
                if (valid || (lineDim != -1 && lineSize % 16))
                  inside = e.less(line.base, valid ? valid : e.i32(lineSize));
                if (alongSize % 16)
                  inside = e.both(inside, e.less(along.base, alongSize));
                Value count =
                    inside ? e.select(inside, e.i32(kCopyBytes), e.i32(0)) : e.i32(kCopyBytes);
                Value offset = e.createOrFold<arith::MulIOp>(e.toI64(e.orZero(line.base)), stride);
                Value part = e.toI64(e.orZero(e.multiply(along.base, bytes)));
                offset = arith::AddIOp::create(e, offset, part);
                warp::CopyAsyncOp::create(e, tensor.base, arith::AddIOp::create(e, start, offset),
                                          address(storage, line, along, 0, 0), count);
              });
}

void KernelLowering::closeCopies() {
  warp::CommitCopiesOp::create(e);
  barriers.closeGroup();
}

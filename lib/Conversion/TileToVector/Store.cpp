//===- Store.cpp - tiles to tensors -*- C++ -*-===//
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

LogicalResult KernelLowering::lowerStore(StoreOp store) {
  auto found = tensors.find(store.getMemref());
  if (found == tensors.end())
    return store.emitError("expected one of the kernel's tensors");
  const Tensor &tensor = found->second;
  if (!isa<FloatType>(tensor.element))
    return store.emitError("expected floating-point elements");
  Value value = store.getTile();
  TileType type = store.getTile().getType();
  int64_t last = int64_t(tensor.strides.size()) - 1;
  int64_t rowDim = store.getRowDim(), colDim = store.getColDim();
  Offset start = 0;
  for (auto [index, stride] : llvm::zip(store.getIndices(), tensor.strides))
    start = e.add(start, e.mul(scalar(index), stride));
  Offset rows = type.getRows(), columns = type.getColumns();
  if (store.getValid()) {
    Offset valid = e.max(scalar(store.getValid()), 0);
    Offset &limit = rowDim != -1 ? rows : columns;
    limit = e.min(valid, limit);
  }
  auto offset = [&](Offset row, Offset column) {
    Offset offset = start;
    if (rowDim != -1)
      offset = e.add(offset, e.mul(row, tensor.strides[rowDim]));
    if (colDim != -1)
      offset = e.add(offset, e.mul(column, tensor.strides[colDim]));
    return offset;
  };

  if (colDim == last && !(store.getValid() && rowDim == -1) && !isColumnVector(type)) {
    auto storeRows = [&](RegisterTile tile) {
      Vectors values = inputTile(value, tile);
      for (int64_t r = 0; r < tile.rows; ++r) {
        Offset row = e.add(tile.row, r);
        auto storeRow = [&]() {
          for (int64_t v = 0; v < tile.vectors; ++v) {
            bool partial = tile.lastLanes && v == tile.vectors - 1;
            e.storeLanes(e.toStorage(values[r * tile.vectors + v], tensor.element),
                         partial ? tile.lastLanes : e.width(), tensor.base,
                         offset(row, e.add(tile.column, v * e.width())));
          }
        };
        if (!store.getValid())
          storeRow();
        else
          e.ifLess(row, rows, storeRow);
      }
    };
    if (fusion.isDeferred(value))
      forEachTileOf(value, /*partialLastVector=*/true, storeRows);
    else
      forEachTile({type.getRows(), type.getColumns(), rows, columns}, {1, 4},
                  /*partialLastVector=*/true, storeRows);
    return success();
  }

  // Element by element: columns, and rows that are not contiguous in the tensor.
  TileMemory storage;
  bool deferred = fusion.isDeferred(value);
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (deferred) {
    storage = allocate(type.getRows(), type.getColumns(), type.getElementType());
    computeHere(value, storage);
  } else {
    storage = storageOf(value);
  }
  e.loop(0, rows, 1, [&](Offset row) {
    e.loop(0, columns, 1, [&](Offset column) {
      e.store(e.toStorage(loadElement(storage, row, column), tensor.element), tensor.base,
              offset(row, column));
    });
  });
  if (deferred)
    scratch.free(storage.offset.constant * bytes);
  return success();
}

//===- NeededPart.cpp - which rows and columns of a tile are read ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeededPart.h"
#include "TileValues.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

/// Whether an index is known where a tile is computed.
static bool isThereBefore(Value index, Value tile) {
  Operation *tileOp = tile.getDefiningOp();
  if (!tileOp) // carried by a loop
    return false;
  Operation *own = index.getDefiningOp();
  if (!own)
    return cast<BlockArgument>(index).getOwner()->findAncestorOpInBlock(*tileOp) != nullptr;
  Operation *inBlock = own->getBlock()->findAncestorOpInBlock(*tileOp);
  return inBlock && own->isBeforeInBlock(inBlock);
}

/// What is read of a triangle: rows of a lower one end with their number, and columns of an upper
/// one.
static TilePart ofTriangle(TilePart part, Triangle triangle) {
  if (triangle == Triangle::Lower && !part.columns)
    part.columns = part.rows;
  if (triangle == Triangle::Upper && !part.rows)
    part.rows = part.columns;
  return part;
}

NeededParts::NeededParts(KernelOp kernel) {
  // Users come after what they use.
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) { visit(op); });
}

TilePart NeededParts::of(Value tile) const {
  TilePart part = parts.lookup(tile);
  if (part.rows && !isThereBefore(part.rows, tile))
    part.rows = {};
  if (part.columns && !isThereBefore(part.columns, tile))
    part.columns = {};
  return part;
}

/// Adds a reader. Of two ends it is not known which one comes first.
void NeededParts::read(Value tile, TilePart part) {
  if (!tile)
    return;
  auto [known, isFirst] = parts.try_emplace(tile, part);
  if (isFirst)
    return;
  if (known->second.rows != part.rows)
    known->second.rows = {};
  if (known->second.columns != part.columns)
    known->second.columns = {};
}

/// Elements are read for those of a result at the same place; a row or a column for all of its
/// rows or columns.
void NeededParts::readLike(OperandRange tiles, Value result) {
  TilePart part = of(result);
  TileType type = tileType(result);
  for (Value tile : tiles) {
    TileType own = tileType(tile);
    read(tile, {own.getRows() == type.getRows() ? part.rows : Value(),
                own.getColumns() == type.getColumns() ? part.columns : Value()});
  }
}

void NeededParts::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](StoreOp store) {
        bool byRows = int64_t(store.getRowDim()) != -1;
        Value valid = store.getValid();
        read(store.getTile(), {byRows ? valid : Value(), byRows ? Value() : valid});
      })
      .Case([&](DotOp dot) {
        TilePart part = ofTriangle(of(dot.getResult()), dot.getTriangle());
        Value terms = dot.getBound();
        // Row i of a lower triangle ends with term i.
        if (dot.getLhsTriangle() == Triangle::Lower && !terms)
          terms = part.rows;
        TilePart lhs{part.rows, terms};
        if (dot.getLhsTransposed())
          std::swap(lhs.rows, lhs.columns);
        read(dot.getLhs(), ofTriangle(lhs, dot.getLhsTriangle()));
        read(dot.getRhs(), {terms, part.columns});
        read(dot.getAcc(), part);
      })
      .Case([&](AccumulateOp update) {
        read(update.getLhs(), {Value(), update.getBound()});
        read(update.getRhs(), {update.getBound(), Value()});
        read(update.getFactor(), {});
      })
      .Case([&](MapOp map) { readLike(map.getInputs(), map.getResult()); })
      .Case([&](CausalMaskOp mask) {
        // What the mask makes zero is read of the mask alone.
        read(mask.getInput(), ofTriangle(of(mask.getResult()), mask.getTriangle()));
      })
      .Case([&](ReduceOp reduce) {
        TilePart part = of(reduce.getResult());
        (reduce.getAxis() == Axis::Rows ? part.rows : part.columns) = reduce.getBound();
        read(reduce.getInput(), ofTriangle(part, reduce.getTriangle()));
      })
      .Case([&](CumulativeSumOp sum) {
        read(sum.getInput(), of(sum.getHigh()));
        read(sum.getInput(), of(sum.getLow()));
      })
      // Columns are those of the source; which rows depends on a table.
      .Case<MonomialsOp, SelectRowsOp>(
          [&](auto rows) { read(rows.getSource(), {Value(), of(rows.getResult()).columns}); })
      .Case([&](PackOp pack) {
        for (Value result : pack.getPacked())
          readLike(pack->getOperands(), result);
      })
      .Case([&](ContractOp contract) {
        Value columns = of(contract.getResult()).columns;
        for (Value tile : {contract.getGradient(), contract.getSource(), contract.getAcc()})
          read(tile, {Value(), columns});
      })
      .Case([&](ConcatOp concat) {
        for (Value tile : concat.getInputs())
          read(tile, {Value(), of(concat.getResult()).columns});
      })
      .Case([&](TransposeOp transpose) {
        TilePart part = of(transpose.getResult());
        read(transpose.getSource(), {part.columns, part.rows});
      })
      // A window that has all rows begins with the first one.
      .Case([&](SliceOp slice) { readLike(slice->getOperands().take_front(1), slice.getResult()); })
      .Default([&](Operation *other) {
        for (Value operand : other->getOperands())
          if (tileType(operand))
            read(operand, {});
      });
}

//===- ZeroPastEnd.cpp - tiles that are zero past the end of a tensor -----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZeroPastEnd.h"
#include "TileValues.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

static Axis other(Axis axis) { return axis == Axis::Rows ? Axis::Columns : Axis::Rows; }

static int64_t sizeAlong(Value tile, Axis axis) {
  TileType type = tileType(tile);
  return axis == Axis::Rows ? type.getRows() : type.getColumns();
}

/// Which of a load's rows or columns `valid` counts.
static Axis axisOfValid(LoadOp load) {
  Axis axis = int64_t(load.getRowDim()) == -1 ? Axis::Columns : Axis::Rows;
  return load.getTransposed() ? other(axis) : axis;
}

static bool isFinite(Value number) {
  FloatAttr constant;
  return matchPattern(number, m_Constant(&constant)) && constant.getValue().isFinite();
}

namespace {
/// What is zero past one end. Each tile is looked at once: a program is a graph, and has
/// exponentially many paths.
class ZeroTiles {
public:
  explicit ZeroTiles(Value end) : end(end) {}

  bool contains(Value tile, Axis axis) {
    auto found = known[axis == Axis::Rows].find(tile);
    if (found != known[axis == Axis::Rows].end())
      return found->second;
    bool isZero = compute(tile, axis);
    known[axis == Axis::Rows][tile] = isZero;
    return isZero;
  }

private:
  bool compute(Value tile, Axis axis);
  bool mapsToZero(MapOp map, Axis axis);

  Value end;
  std::array<llvm::DenseMap<Value, bool>, 2> known;
};
} // namespace

/// Whether the function of a map gives zero where the inputs do that are zero past the end.
bool ZeroTiles::mapsToZero(MapOp map, Axis axis) {
  Block &body = map.getBody().front();
  llvm::DenseSet<Value> zeros;
  for (auto [argument, input] : llvm::zip(body.getArguments(), map.getInputs()))
    if (sizeAlong(input, axis) == sizeAlong(map.getResult(), axis) && contains(input, axis))
      zeros.insert(argument);
  auto isZero = [&](Value number) {
    return zeros.contains(number) || matchPattern(number, m_AnyZeroFloat());
  };
  for (Operation &op : body.without_terminator()) {
    bool allZero = op.getNumOperands() && llvm::all_of(op.getOperands(), isZero);
    bool zero = false;
    if (isa<arith::MulFOp>(op))
      zero = allZero || (isZero(op.getOperand(0)) && isFinite(op.getOperand(1))) ||
             (isFinite(op.getOperand(0)) && isZero(op.getOperand(1)));
    else if (isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, math::AbsFOp>(op))
      zero = allZero;
    if (zero)
      zeros.insert(op.getResult(0));
  }
  return isZero(cast<YieldOp>(body.getTerminator()).getValue());
}

bool ZeroTiles::compute(Value tile, Axis axis) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](LoadOp load) { return load.getValid() == end && axisOfValid(load) == axis; })
      .Case([&](TransposeOp transpose) { return contains(transpose.getSource(), other(axis)); })
      // Products of one or more rows.
      .Case<MonomialsOp, SelectRowsOp>(
          [&](auto rows) { return axis == Axis::Columns && contains(rows.getSource(), axis); })
      .Case([&](MapOp map) { return mapsToZero(map, axis); })
      .Default(false);
}

bool polyattn::isZeroPast(Value tile, Axis axis, Value end) {
  return ZeroTiles(end).contains(tile, axis);
}

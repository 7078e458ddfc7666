//===- PackOperands.cpp - operands as products of bf16 pairs read them ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "lib/TileAnalysis/Divisibility.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace polyattn {
#define GEN_PASS_DEF_PACKOPERANDS
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using tile::Layout;

/// Whether a window begins and ends with whole pairs of the layout.
static bool hasWholePairs(tile::SliceOp slice, Layout layout) {
  bool ofRows = layout == Layout::RowPairs;
  auto sizeOf = [&](tile::TileType type) { return ofRows ? type.getRows() : type.getColumns(); };
  return sizeOf(slice.getSource().getType()) % 2 == 0 && sizeOf(slice.getType()) % 2 == 0 &&
         knownDivisor(ofRows ? slice.getRow() : slice.getColumn()) % 2 == 0;
}

/// What is packed for an operand: itself, or where it is a window of what an outer block computes,
/// all of that, once for all iterations.
static Value rootOf(Value operand, Layout layout) {
  auto slice = operand.getDefiningOp<tile::SliceOp>();
  if (!slice || slice.getSource().getParentBlock() == slice->getBlock() ||
      !hasWholePairs(slice, layout))
    return operand;
  return rootOf(slice.getSource(), layout);
}

namespace {
/// An operand and the layout in which its product reads it.
struct PackedUse {
  OpOperand *operand;
  Layout layout;
};

/// The packed forms of the values of one kernel.
class PackedValues {
public:
  void add(OpOperand &operand, Layout layout) {
    uses.push_back({&operand, layout});
    layouts[rootOf(operand.get(), layout)].insert(layout);
  }
  void rewrite() {
    for (auto &[root, orders] : layouts)
      pack(root, orders.getArrayRef());
    for (PackedUse use : uses)
      use.operand->set(packed(use.operand->get(), use.layout));
  }

private:
  void pack(Value root, ArrayRef<Layout> orders);
  Value packed(Value value, Layout layout);

  SmallVector<PackedUse> uses;
  llvm::MapVector<Value, llvm::SmallSetVector<Layout, 2>> layouts;
  llvm::DenseMap<std::pair<Value, Layout>, Value> known;
};
} // namespace

static tile::TileType packedType(Value value, Layout layout) {
  return tileType(value).withElements(BFloat16Type::get(value.getContext()), layout);
}

/// The op comes right behind the value: the rows of a buffer may be written later.
void PackedValues::pack(Value root, ArrayRef<Layout> orders) {
  OpBuilder builder(root.getContext());
  builder.setInsertionPointAfterValue(root);
  auto types =
      llvm::map_to_vector(orders, [&](Layout order) -> Type { return packedType(root, order); });
  auto op = tile::PackOp::create(builder, root.getLoc(), types, root);
  for (auto [order, result] : llvm::zip_equal(orders, op.getPacked()))
    known[{root, order}] = result;
}

Value PackedValues::packed(Value value, Layout layout) {
  Value &result = known[{value, layout}];
  if (result)
    return result;
  auto slice = value.getDefiningOp<tile::SliceOp>();
  Value source = packed(slice.getSource(), layout);
  OpBuilder builder(slice);
  return known[{value, layout}] =
             tile::SliceOp::create(builder, slice.getLoc(), packedType(value, layout), source,
                                   slice.getRow(), slice.getColumn());
}

/// Whether a product rounds its operands to bf16, which are not rounded yet.
template <typename Product> static bool isToBePacked(Product product) {
  return product.multipliesIn() == tile::Precision::BF16 &&
         product.getLhs().getType().getElementType().isF32() &&
         product.getRhs().getType().getElementType().isF32() &&
         product.getRhs().getType().getRows() % 2 == 0;
}

namespace {
struct PackOperandsPass : polyattn::impl::PackOperandsBase<PackOperandsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      PackedValues values;
      kernel.walk([&](tile::DotOp dot) {
        if (!isToBePacked(dot))
          return;
        values.add(dot.getLhsMutable(), dot.getLhsTransposed() ? Layout::RowPairs : Layout::Rows);
        values.add(dot.getRhsMutable(), Layout::RowPairs);
      });
      kernel.walk([&](tile::AccumulateOp update) {
        if (!isToBePacked(update))
          return;
        values.add(update.getLhsMutable(), Layout::Rows);
        values.add(update.getRhsMutable(), Layout::RowPairs);
      });
      values.rewrite();
    }
  }
};
} // namespace

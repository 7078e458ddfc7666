//===- MoveScales.cpp - exact operands of products stay exact -------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CreateMap.h"
#include "dialects/Tile/Tile.h"
#include "lib/TileAnalysis/TileValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/TileTransforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace polyattn {
#define GEN_PASS_DEF_MOVESCALES
#include "lib/TileTransforms/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {

/// A matrix times a factor for each of its rows, or for each of its columns.
struct Scaled {
  Value matrix, factors;

  bool scalesRows() const { return tileType(factors).getColumns() == 1; }
};

/// A product of matrices that multiplies each operand as the sum of two numbers, unless one number
/// holds it.
class SplitProduct {
public:
  explicit SplitProduct(DotOp dot)
      : op(dot), lhs(dot.getLhsMutable()), rhs(dot.getRhsMutable()), precision(*dot.getPrecision()),
        lhsTransposed(dot.getLhsTransposed()), result(dot.getAcc() ? Value() : dot.getResult()) {}
  explicit SplitProduct(AccumulateOp update)
      : op(update), lhs(update.getLhsMutable()), rhs(update.getRhsMutable()),
        precision(*update.getPrecision()) {}

  static bool isOne(std::optional<Precision> precision) {
    return precision == Precision::SplitBF16 || precision == Precision::SplitTF32;
  }
  void moveScales();

private:
  bool isExact(Value operand) const;
  std::optional<Scaled> scaledOf(Value operand) const;
  bool isAlongSum(const OpOperand &operand, const Scaled &scaled) const;
  void scaleResult(OpOperand &operand, const Scaled &scaled);
  void scaleOther(OpOperand &operand, OpOperand &other, const Scaled &scaled);

  Operation *op;
  OpOperand &lhs, &rhs;
  Precision precision;
  bool lhsTransposed = false;
  Value result; // null where something is accumulated
};

} // namespace

/// Whether the numbers of an operand are as a tensor has them, each one number of the product's
/// precision.
bool SplitProduct::isExact(Value operand) const {
  if (auto slice = operand.getDefiningOp<SliceOp>())
    return isExact(slice.getSource());
  auto load = operand.getDefiningOp<LoadOp>();
  if (!load)
    return false;
  Type element = cast<MemRefType>(load.getMemref().getType()).getElementType();
  return element.isBF16() || (precision == Precision::SplitTF32 && element.isF16());
}

/// An exact matrix and the factors that it is multiplied by, where an operand is such a product.
std::optional<Scaled> SplitProduct::scaledOf(Value operand) const {
  auto map = operand.getDefiningOp<MapOp>();
  if (!map || map.getInputs().size() != 2)
    return std::nullopt;
  Block &body = map.getBody().front();
  auto product = dyn_cast<arith::MulFOp>(body.front());
  if (!product || body.getOperations().size() != 2 || product.getLhs() == product.getRhs())
    return std::nullopt;
  for (auto [matrix, factors] : {std::pair(0, 1), std::pair(1, 0)}) {
    Scaled scaled{map.getInputs()[matrix], map.getInputs()[factors]};
    TileType type = tileType(scaled.factors);
    bool isLine = (type.getRows() == 1) != (type.getColumns() == 1);
    if (isLine && isExact(scaled.matrix) && sameShape(scaled.matrix, operand))
      return scaled;
  }
  return std::nullopt;
}

/// Whether the sum goes over what has a factor each.
bool SplitProduct::isAlongSum(const OpOperand &operand, const Scaled &scaled) const {
  bool sumsRows = &operand == &rhs || lhsTransposed;
  return scaled.scalesRows() == sumsRows;
}

/// A vector as a row or as a column.
static Value oriented(OpBuilder &b, Location loc, Value vector, bool asRow) {
  TileType type = tileType(vector);
  if ((type.getRows() == 1) == asRow)
    return vector;
  auto turned =
      TileType::get(type.getContext(), type.getColumns(), type.getRows(), type.getElementType());
  return TransposeOp::create(b, loc, turned, vector);
}

void SplitProduct::scaleResult(OpOperand &operand, const Scaled &scaled) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  operand.set(scaled.matrix);
  Value factors = oriented(b, op->getLoc(), scaled.factors, /*asRow=*/&operand == &rhs);
  Value all = createMap(b, op->getLoc(), result, factors);
  result.replaceAllUsesExcept(all, all.getDefiningOp());
}

/// Scales the other operand where that is two numbers anyway, computed element by element, and only
/// this product needs it.
void SplitProduct::scaleOther(OpOperand &operand, OpOperand &other, const Scaled &scaled) {
  Value factor = other.get();
  if (!factor.hasOneUse() || !isa_and_present<MapOp, CausalMaskOp, DotOp>(factor.getDefiningOp()))
    return;
  OpBuilder b(op);
  bool asRow = &other == &lhs && !lhsTransposed;
  operand.set(scaled.matrix);
  other.set(createMap(b, op->getLoc(), factor, oriented(b, op->getLoc(), scaled.factors, asRow)));
}

void SplitProduct::moveScales() {
  for (auto [own, other] : {std::pair(&lhs, &rhs), std::pair(&rhs, &lhs)}) {
    std::optional<Scaled> scaled = scaledOf(own->get());
    if (!scaled)
      continue;
    if (isAlongSum(*own, *scaled))
      scaleOther(*own, *other, *scaled);
    else if (result)
      scaleResult(*own, *scaled);
  }
}

namespace {
struct MoveScalesPass : polyattn::impl::MoveScalesBase<MoveScalesPass> {
  void runOnOperation() override {
    SmallVector<SplitProduct> products;
    getOperation()->walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op).Case<DotOp, AccumulateOp>([&](auto product) {
        if (SplitProduct::isOne(product.getPrecision()) && isMatrixProduct(product))
          products.emplace_back(product);
      });
    });
    for (SplitProduct &product : products)
      product.moveScales();
  }
};
} // namespace

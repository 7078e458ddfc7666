//===- Fusion.cpp - which values are computed where they are used -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "lib/TileAnalysis/Deferral.h"
#include "lib/TileAnalysis/Liveness.h"
#include "lib/TileAnalysis/TileValues.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_vector;
using namespace polyattn::tile;

static bool isFunction(Operation &op) {
  return isa_and_nonnull<math::MathDialect>(op.getDialect()) &&
         !isa<math::FmaOp, math::AbsFOp, math::SqrtOp>(op);
}

bool polyattn::tile_to_vector::isExpensive(MapOp map) {
  return llvm::any_of(map.getBody().front(), isFunction);
}

int64_t polyattn::tile_to_vector::instructionsOfElement(MapOp map) {
  constexpr int64_t function = 24; // a polynomial
  int64_t count = 0;
  for (Operation &op : map.getBody().front())
    count += isFunction(op) ? function : 1;
  return count;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

bool Fusion::isView(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<SliceOp, ReadOp>(op))
    return true;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    // A row vector and a column vector lie in memory alike. A view would not do where the
    // source is a column of a wide tile.
    TileType source = transpose.getSource().getType();
    return (source.getRows() == 1 || source.getColumns() == 1) &&
           !isa_and_nonnull<SliceOp>(viewed(transpose.getSource()).getDefiningOp()) &&
           !isa_and_nonnull<SliceOp>(transpose.getSource().getDefiningOp());
  }
  auto mask = dyn_cast<CausalMaskOp>(op);
  return mask && isMaskView(mask);
}

/// Nothing looks at the zeros, so that they need not be written.
bool Fusion::isMaskView(CausalMaskOp mask) const {
  return !isDeferred(mask.getResult()) && needsNoZeros(mask);
}

Value Fusion::viewed(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<SliceOp, TransposeOp, CausalMaskOp>(op) || !isView(value))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool Fusion::needsOnly(Value value, Triangle triangle) const {
  // Each value is looked at once: a program is a graph, and has exponentially many paths.
  SmallVector<Value> pending = {value};
  llvm::DenseSet<Value> seen = {value};
  auto readsOnly = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<DotOp>(user))
      return dot.getLhsTriangle() == triangle && !dot.getLhsTransposed() &&
             use.getOperandNumber() == 0;
    if (auto mask = dyn_cast<CausalMaskOp>(user))
      return mask.getTriangle() == triangle;
    if (auto reduce = dyn_cast<ReduceOp>(user))
      return reduce.getTriangle() == triangle;
    // Element by element.
    auto map = dyn_cast<MapOp>(user);
    bool isAlike = isa<PackOp>(user) || (map && sameShape(use.get(), map.getResult()));
    for (Value result : isAlike ? user->getResults() : ValueRange())
      if (seen.insert(result).second)
        pending.push_back(result);
    return isAlike;
  };
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    TileType type = tileType(next);
    if (type.getRows() != type.getColumns() || type.getRows() == 1 || next.use_empty() ||
        !llvm::all_of(next.getUses(), readsOnly))
      return false;
  }
  return true;
}

Triangle Fusion::triangleOf(Value value) const {
  auto dot = value.getDefiningOp<DotOp>();
  for (Triangle triangle : {Triangle::Lower, Triangle::Upper})
    if ((dot && dot.getTriangle() == triangle) || needsOnly(value, triangle))
      return triangle;
  return Triangle::None;
}

//===----------------------------------------------------------------------===//
// Deferral
//===----------------------------------------------------------------------===//

/// In program order values are deferred into users that take them in as these stand. A mask that
/// is a view takes in nothing after all, which is known once it is known where the mask itself is
/// computed: users come after what they use, so that going back through the values tells.
Fusion::Fusion(KernelOp kernel) {
  SmallVector<Value> order;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (tileType(result) && isDeferrable(result)) {
        deferred.insert(result);
        order.push_back(result);
      }
  });
  for (Value value : llvm::reverse(order))
    if (llvm::any_of(value.getUsers(), [&](Operation *user) {
          auto mask = dyn_cast<CausalMaskOp>(user);
          return mask && isMaskView(mask);
        }))
      deferred.erase(value);
}

bool Fusion::isDeferrable(Value value) const {
  Operation *op = value.getDefiningOp();
  if (value.use_empty())
    return false;
  if (isa<ConstantOp, IotaOp>(op))
    return llvm::all_of(value.getUses(), [&](OpOperand &use) { return accepts(use, value); });
  if (!isa<DotOp, MapOp, CausalMaskOp, MonomialsOp, ToeplitzOp>(op) || !value.hasOneUse())
    return false;
  // A matrix times a column is computed by rows, in a nest of its own.
  if (auto dot = dyn_cast<DotOp>(op); dot && isColumnVector(dot.getResult().getType()))
    if (!dot.getLhsTransposed())
      return false;
  return canMoveToUsers(
      value, [&](Value operand) { return isPassedOn(operand); },
      [&](OpOperand &use) { return accepts(use, value) && fitsInto(use.getOwner(), value); });
}

/// Whether the user can compute its operand at the elements that it needs.
bool Fusion::accepts(OpOperand &use, Value producer) const {
  Operation *user = use.getOwner();
  bool constant = isa<ConstantOp>(producer.getDefiningOp());
  if (auto map = dyn_cast<MapOp>(user)) {
    if (constant)
      return true;
    if (isa<IotaOp>(producer.getDefiningOp()))
      return tileType(producer).getColumns() == map.getResult().getType().getColumns();
    return sameShape(producer, map.getResult()) && !(isExpensive(map) && evaluatesDot(producer));
  }
  // Unless it turns out to be a view.
  if (isa<CausalMaskOp>(user))
    return true;
  if (isa<ReduceOp>(user))
    return !evaluatesDot(producer);
  if (isa<StoreOp, ConcatOp, PackOp>(user))
    return true;
  if (isa<WriteOp>(user))
    return !readsBuffer(producer, [&](Value operand) { return isPassedOn(operand); });
  if (auto dot = dyn_cast<DotOp>(user))
    return dot.getAcc() && use.getOperandNumber() == 2;
  if (auto accumulate = dyn_cast<AccumulateOp>(user))
    return use.getOperandNumber() == 0 && !constant &&
           tileType(producer).getRows() % kStripRows == 0 && tileType(producer).getColumns() > 1 &&
           accumulate.getBuffer().getType().getColumns() > 1;
  if (auto contract = dyn_cast<ContractOp>(user))
    return constant && producer == contract.getAcc();
  if (isa<scf::ForOp>(user))
    return constant;
  return false;
}

/// Whether evaluating `value` where it is used computes a product.
bool Fusion::evaluatesDot(Value value) const {
  return countEvaluated(
      value, [&](Value operand) { return isDeferred(operand); },
      [](Operation *op) { return isa<DotOp>(op); });
}

bool Fusion::containsDot(Value value) const { return isDeferred(value) && evaluatesDot(value); }

void Fusion::collectProducts(Value value, SmallVectorImpl<DotOp> &products) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto dot = dyn_cast<DotOp>(op)) {
    if (!llvm::is_contained(products, dot))
      products.push_back(dot);
    return;
  }
  for (Value operand : op->getOperands())
    if (isa<TileType>(operand.getType()) && isDeferred(operand))
      collectProducts(operand, products);
}

SmallVector<DotOp> Fusion::productsOf(Value value) const {
  SmallVector<DotOp> products;
  collectProducts(value, products);
  return products;
}

/// The instructions for an element of `value`, including those of deferred values that it is
/// computed from.
int64_t Fusion::instructionsOf(Value value) const {
  Operation *op = value.getDefiningOp();
  auto map = dyn_cast_or_null<MapOp>(op);
  int64_t count = map ? instructionsOfElement(map) : 1;
  for (Value operand : op ? op->getOperands() : ValueRange())
    if (isa_and_nonnull<DotOp, MapOp, CausalMaskOp, MonomialsOp, ToeplitzOp>(
            operand.getDefiningOp()))
      if (isDeferred(operand))
        count += instructionsOf(operand);
  return count;
}

/// Whether `value` leaves room for the other operands.
bool Fusion::fitsInto(Operation *user, Value value) const {
  int64_t tiles = llvm::count_if(user->getOperands(), tileType);
  return instructionsOf(value) <= kMostInstructions / std::max<int64_t>(tiles, 1);
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

Operation *Fusion::lastUse(Value value) const {
  return polyattn::lastUse(value, [&](Value result) {
    return isView(result) ||
           (isDeferred(result) && !isa<ConstantOp, IotaOp>(result.getDefiningOp()));
  });
}

bool Fusion::readsInPlace(Value root, Value leaf) const {
  Operation *op = root.getDefiningOp();
  if (!op)
    return true;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!tileType(value))
      continue;
    bool elementwise = isa<CausalMaskOp>(op) || (isa<MapOp>(op) && sameShape(value, root)) ||
                       (isa<DotOp>(op) && operand.getOperandNumber() == 2) ||
                       (isa<ContractOp>(op) && value == cast<ContractOp>(op).getAcc());
    if (value == leaf ? !elementwise : viewed(value) == leaf)
      return false;
    if (isDeferred(value) && !readsInPlace(value, leaf))
      return false;
  }
  return true;
}

Value Fusion::carriedDestination(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || isView(value))
    return {};
  for (OpOperand &use : value.getUses()) {
    auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
    auto loop = yield ? dyn_cast<scf::ForOp>(yield->getParentOp()) : scf::ForOp();
    if (!loop || op->getBlock() != loop.getBody())
      continue;
    Value carried = loop.getRegionIterArg(use.getOperandNumber());
    // The old value must have served its purpose when the new one takes its place.
    Operation *last = lastUse(carried);
    if (!last || !op->isBeforeInBlock(last))
      if (readsInPlace(value, carried))
        return carried;
  }
  return {};
}

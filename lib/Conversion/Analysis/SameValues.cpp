//===- SameValues.cpp - values that are the same by what computes them ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameValues.h"
#include "TileValues.h"
#include "dialects/Tile/Inputs.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

bool polyattn::isMovable(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load ? isInput(load.getMemref()) : isPure(op);
}

bool polyattn::haveSameRegions(Operation *a, Operation *b) {
  return llvm::all_of(llvm::zip(a->getRegions(), b->getRegions()), [](auto pair) {
    return OperationEquivalence::isRegionEquivalentTo(&std::get<0>(pair), &std::get<1>(pair),
                                                      OperationEquivalence::IgnoreLocations);
  });
}

namespace {
/// Follows two computations at once. What has been found the same is not followed again: a program
/// is a graph, and has exponentially many paths. What is found to differ ends the comparison.
class Comparison {
public:
  explicit Comparison(SameArguments areSame = {}) : areSame(areSame) {}

  bool areEqual(Value a, Value b);
  bool areTransposed(Value a, Value b);

private:
  using Pairs = llvm::DenseSet<std::pair<Value, Value>>;

  bool areEqual(ValueRange a, ValueRange b) {
    return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [&](auto pair) {
             return areEqual(std::get<0>(pair), std::get<1>(pair));
           });
  }
  bool computeEqual(Value a, Value b);
  bool isTransposeOf(Value a, Value b);
  bool computeTransposed(Value a, Value b);
  bool areTransposed(LoadOp a, LoadOp b);

  SameArguments areSame;
  Pairs equal, transposed;
};
} // namespace

bool Comparison::areEqual(Value a, Value b) {
  if (a == b || equal.contains({a, b}))
    return true;
  if (!a || !b || a.getType() != b.getType() || !computeEqual(a, b))
    return false;
  equal.insert({a, b});
  return true;
}

bool Comparison::computeEqual(Value a, Value b) {
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y) {
    auto own = dyn_cast<BlockArgument>(a), other = dyn_cast<BlockArgument>(b);
    return own && other && areSame && areSame(own, other);
  }
  return x->getName() == y->getName() && isMovable(x) && x->getNumResults() == 1 &&
         x->getDiscardableAttrDictionary() == y->getDiscardableAttrDictionary() &&
         x->getPropertiesAsAttribute() == y->getPropertiesAsAttribute() && haveSameRegions(x, y) &&
         areEqual(x->getOperands(), y->getOperands());
}

bool polyattn::areEqual(Value a, Value b, SameArguments areSame) {
  return Comparison(areSame).areEqual(a, b);
}

//===----------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------===//

bool Comparison::areTransposed(Value a, Value b) {
  if (transposed.contains({a, b}))
    return true;
  if (a.getType() != transposedType(b) || !computeTransposed(a, b))
    return false;
  transposed.insert({a, b});
  return true;
}

bool Comparison::isTransposeOf(Value a, Value b) {
  auto transpose = a.getDefiningOp<TransposeOp>();
  return transpose && areEqual(transpose.getSource(), b);
}

/// One window of a tensor, read both ways.
bool Comparison::areTransposed(LoadOp a, LoadOp b) {
  return isInput(a.getMemref()) && a.getMemref() == b.getMemref() &&
         a.getTransposed() != b.getTransposed() && a.getRowDim() == b.getRowDim() &&
         a.getColDim() == b.getColDim() && areEqual(a.getValid(), b.getValid()) &&
         areEqual(a.getIndices(), b.getIndices());
}

bool Comparison::computeTransposed(Value a, Value b) {
  if (isTransposeOf(a, b) || isTransposeOf(b, a))
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName())
    return false;
  if (auto constant = dyn_cast<ConstantOp>(x))
    return constant.getValue().bitwiseIsEqual(cast<ConstantOp>(y).getValue());
  if (auto load = dyn_cast<LoadOp>(x))
    return areTransposed(load, cast<LoadOp>(y));
  auto map = dyn_cast<MapOp>(x);
  return map && x->getNumOperands() == y->getNumOperands() && haveSameRegions(x, y) &&
         llvm::all_of(llvm::zip(map.getInputs(), cast<MapOp>(y).getInputs()), [&](auto pair) {
           return areTransposed(std::get<0>(pair), std::get<1>(pair));
         });
}

bool polyattn::areTransposed(Value a, Value b) { return Comparison().areTransposed(a, b); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Whether the monomials of `part` are those of `whole` from a row on, which is given.
static std::optional<int64_t> findRows(MonomialsOp part, MonomialsOp whole) {
  std::optional<int64_t> shift = findRows(part.getSource(), whole.getSource());
  if (!shift || !matchPattern(part.getFirst(), m_Zero()) ||
      !matchPattern(whole.getFirst(), m_Zero()) ||
      bool(part.getWeights()) != bool(whole.getWeights()))
    return std::nullopt;
  auto slots = llvm::to_vector(part.getTable().getValues<int32_t>());
  auto all = llvm::to_vector(whole.getTable().getValues<int32_t>());
  int64_t power = cast<ShapedType>(part.getTable().getType()).getDimSize(1);
  if (power != cast<ShapedType>(whole.getTable().getType()).getDimSize(1))
    return std::nullopt;
  for (int32_t &slot : slots)
    slot += int32_t(*shift);
  int64_t rows = tileType(part.getResult()).getRows();
  for (int64_t row = 0; row + rows <= tileType(whole.getResult()).getRows(); ++row) {
    bool sameWeights = !part.getWeights() || ArrayRef(*whole.getWeights()).slice(row, rows) ==
                                                 ArrayRef(*part.getWeights()).take_front(rows);
    if (sameWeights &&
        ArrayRef(all).slice(row * power, rows * power) == ArrayRef(slots).take_front(rows * power))
      return row;
  }
  return std::nullopt;
}

std::optional<int64_t> polyattn::findRows(Value part, Value whole) {
  if (areEqual(part, whole))
    return 0;
  if (tileType(part).getColumns() != tileType(whole).getColumns() ||
      tileType(part).getRows() > tileType(whole).getRows())
    return std::nullopt;
  if (auto concat = whole.getDefiningOp<ConcatOp>()) {
    int64_t row = 0;
    for (Value input : concat.getInputs()) {
      if (areEqual(part, input))
        return row;
      row += tileType(input).getRows();
    }
  }
  auto own = part.getDefiningOp<MonomialsOp>(), other = whole.getDefiningOp<MonomialsOp>();
  return own && other ? ::findRows(own, other) : std::nullopt;
}

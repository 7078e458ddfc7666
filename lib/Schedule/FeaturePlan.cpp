//===- FeaturePlan.cpp - leaves and monomials of a feature vector ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/FeaturePlan.h"
#include "dialects/PolyAttn/Leaves.h"

using namespace mlir;
using namespace polyattn;

bool FeaturePlan::isDirect() const {
  int64_t rows = stackRows + hasMixedDegrees();
  if (degree() != 1 || int64_t(monomials.size()) != rows)
    return false;
  for (auto [i, monomial] : llvm::enumerate(monomials))
    if (rowOf(monomial, 0) != int64_t(i))
      return false;
  return true;
}

SmallVector<int64_t> FeaturePlan::partRows() const {
  SmallVector<int64_t> rows;
  for (Value leaf : leaves)
    rows.push_back(cast<FeatureType>(leaf.getType()).getWidth());
  if (hasMixedDegrees())
    rows.push_back(1);
  return rows;
}

int64_t FeaturePlan::degree() const {
  size_t degree = 1;
  for (const Monomial &monomial : monomials)
    degree = std::max(degree, monomial.indices.size());
  return degree;
}

bool FeaturePlan::hasMixedDegrees() const {
  int64_t most = degree();
  return llvm::any_of(monomials, [&](const Monomial &monomial) {
    return int64_t(monomial.indices.size()) != most;
  });
}

int64_t FeaturePlan::rowOf(const Monomial &monomial, int64_t slot) const {
  return slot < int64_t(monomial.indices.size()) ? monomial.indices[slot] : stackRows;
}

DenseIntElementsAttr FeaturePlan::table(Builder &builder) const {
  SmallVector<int32_t> rows;
  int64_t slots = degree();
  for (const Monomial &monomial : monomials)
    for (int64_t slot = 0; slot < slots; ++slot)
      rows.push_back(rowOf(monomial, slot));
  auto type = RankedTensorType::get({int64_t(monomials.size()), slots}, builder.getI32Type());
  return DenseIntElementsAttr::get(type, ArrayRef(rows));
}

FeaturePlan polyattn::planPairs(Value vector) {
  FeaturePlan plan;
  plan.leaves.push_back(vector);
  plan.leafStart.push_back(0);
  plan.stackRows = cast<FeatureType>(vector.getType()).getWidth();
  plan.monomials = symmetricMonomials(plan.stackRows, /*degree=*/2, /*block=*/1);
  for (Monomial &pair : plan.monomials)
    pair.weight = 1;
  return plan;
}

FeaturePlan polyattn::partOf(const FeaturePlan &plan, int64_t first, int64_t count) {
  FeaturePlan part;
  part.monomials.assign(plan.monomials.begin() + first, plan.monomials.begin() + first + count);
  llvm::SmallDenseMap<int64_t, int64_t> rows; // of the whole's stack, where they are now
  for (auto [number, leaf] : llvm::enumerate(plan.leaves)) {
    int64_t start = plan.leafStart[number], width = cast<FeatureType>(leaf.getType()).getWidth();
    bool isUsed = llvm::any_of(part.monomials, [&](const Monomial &monomial) {
      return llvm::any_of(monomial.indices,
                          [&](int64_t row) { return row >= start && row < start + width; });
    });
    if (!isUsed)
      continue;
    part.leaves.push_back(leaf);
    part.leafStart.push_back(part.stackRows);
    for (int64_t i = 0; i < width; ++i)
      rows[start + i] = part.stackRows++;
  }
  for (Monomial &monomial : part.monomials)
    for (int64_t &row : monomial.indices)
      row = rows.lookup(row);
  return part;
}

static std::vector<Monomial> cross(const std::vector<Monomial> &left,
                                   const std::vector<Monomial> &right) {
  std::vector<Monomial> result;
  result.reserve(left.size() * right.size());
  for (const Monomial &a : left)
    for (const Monomial &b : right) {
      Monomial product{a.indices, a.weight * b.weight};
      product.indices.append(b.indices);
      result.push_back(std::move(product));
    }
  return result;
}

namespace {
struct Planner {
  FeaturePlan plan;

  std::vector<Monomial> leaf(Value value) {
    auto it = llvm::find(plan.leaves, value);
    int64_t index = it - plan.leaves.begin();
    int64_t width = cast<FeatureType>(value.getType()).getWidth();
    if (it == plan.leaves.end()) {
      plan.leaves.push_back(value);
      plan.leafStart.push_back(plan.stackRows);
      plan.stackRows += width;
    }
    std::vector<Monomial> rows;
    rows.reserve(width);
    for (int64_t i = 0; i < width; ++i)
      rows.push_back({{plan.leafStart[index] + i}, 1.0});
    return rows;
  }

  std::vector<Monomial> of(Value value) {
    double factor = 1;
    value = withoutScales(value, factor);
    std::vector<Monomial> result;
    if (auto tensor = value.getDefiningOp<TensorOp>()) {
      result.push_back({{}, 1.0});
      for (Value input : tensor.getInputs())
        result = cross(result, of(input));
    } else if (auto concat = value.getDefiningOp<ConcatOp>()) {
      for (Value input : concat.getInputs())
        llvm::append_range(result, of(input));
    } else if (auto power = value.getDefiningOp<PowerOp>()) {
      std::vector<Monomial> base = of(power.getInput());
      std::vector<Monomial> tuples =
          power.getSymmetric()
              ? symmetricMonomials(base.size(), power.getDegree(), power.getBlock().value_or(1))
              : tensorMonomials(base.size(), power.getDegree());
      for (const Monomial &tuple : tuples) {
        Monomial product{{}, tuple.weight};
        for (int64_t index : tuple.indices) {
          product.indices.append(base[index].indices);
          product.weight *= base[index].weight;
        }
        result.push_back(std::move(product));
      }
    } else if (auto constant = value.getDefiningOp<ConstantOp>()) {
      result.assign(constant.getWidth(), {{}, constant.getValue().convertToDouble()});
    } else {
      result = leaf(value);
    }
    for (Monomial &monomial : result)
      monomial.weight *= factor;
    return result;
  }
};
} // namespace

FeaturePlan polyattn::planFeatures(Value value) {
  Planner planner;
  std::vector<Monomial> monomials = planner.of(value);
  planner.plan.monomials = std::move(monomials);
  return std::move(planner.plan);
}

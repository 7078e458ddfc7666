//===- FeaturePlan.h - leaves and monomials of a feature vector -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_SCHEDULE_FEATUREPLAN_H
#define POLYATTN_SCHEDULE_FEATUREPLAN_H

#include "dialects/PolyAttn/PolyAttn.h"
#include "mlir/IR/Builders.h"

namespace polyattn {

/// A structured vector seen as monomials over leaves: plain vectors that are computed
/// as tiles, one row for each number, stacked in the order of `leaves`.
struct FeaturePlan {
  llvm::SmallVector<mlir::Value> leaves; // each once
  llvm::SmallVector<int64_t> leafStart;  // its first row in the stack
  int64_t stackRows = 0;
  std::vector<Monomial> monomials; // indices are rows of the stack

  /// Every feature is a row of the stack, or the 1 after it, in order: nothing to expand.
  bool isDirect() const;
  /// The features are the elements of one leaf.
  bool isOneLeaf() const { return isDirect() && leaves.size() == 1 && !hasMixedDegrees(); }
  /// The largest number of factors.
  int64_t degree() const;
  /// Some monomial has fewer factors than another.
  bool hasMixedDegrees() const;
  /// How many rows each leaf has in the stack, and then the 1 where some monomial needs it.
  llvm::SmallVector<int64_t> partRows() const;
  /// The rows that each monomial multiplies, D x degree; the row after the stack stands for 1.
  mlir::DenseIntElementsAttr table(mlir::Builder &builder) const;

private:
  int64_t rowOf(const Monomial &monomial, int64_t slot) const;
};

/// The most features that are listed as monomials.
constexpr int64_t kMaxMonomials = int64_t(1) << 18;

/// Lists the monomials of `value`; the caller has checked that D is at most kMaxMonomials.
FeaturePlan planFeatures(mlir::Value value);

/// The products of two elements of a vector, each once and with the weight 1.
FeaturePlan planPairs(mlir::Value vector);

/// The plan of monomials [first, first + count) alone.
FeaturePlan partOf(const FeaturePlan &plan, int64_t first, int64_t count);

} // namespace polyattn

#endif // POLYATTN_SCHEDULE_FEATUREPLAN_H

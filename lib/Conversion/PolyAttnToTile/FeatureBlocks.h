//===- FeatureBlocks.h - features, block by block ---------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_FEATUREBLOCKS_H
#define POLYATTN_CONVERSION_FEATUREBLOCKS_H

#include "VectorProgram.h"
#include "polyattn/Schedule/FeaturePlan.h"

namespace polyattn {

/// The features of one side of an attention, some rows at a time.
class FeatureBlocks {
public:
  /// `weights` multiply the features; without them the features are bare products.
  FeatureBlocks(const FeaturePlan &plan, std::vector<double> weights);

  /// Computes the leaves, before a loop over blocks; `block` may then be called.
  void prepare(TileBuilder &builder, VectorProgram &program);
  /// The same where `condition`, i1, is true; otherwise features that nobody reads may be zeros.
  void prepareIf(TileBuilder &builder, VectorProgram &program, mlir::Value condition);
  /// Whether all features, taken at once, are rows of a tensor as they lie in memory.
  bool areRowMajor() const;
  /// All features as the left operand of a product; no `prepare` is needed where they are
  /// row-major.
  LhsTile rowMajor(TileBuilder &builder, VectorProgram &program);
  /// Features [first, first + count) as a tile of `count` rows.
  mlir::Value block(TileBuilder &builder, VectorProgram &program, mlir::Value first, int64_t count);

private:
  bool isWeighted() const { return !weights.empty() && !(uniform && weights[0] == 1); }
  void weighParts();

  const FeaturePlan &plan;
  std::vector<double> weights;           // of each feature
  bool uniform = true;                   // all weights are equal
  llvm::SmallVector<double> partWeights; // of each part of the stack, beside those of the features
  mlir::Value stack; // the leaves, one upon the other; null where features are one leaf's rows
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_FEATUREBLOCKS_H

//===- FeatureMaps.h - what chunked attention needs of a feature map -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_BENCHMARKS_PEERS_FEATUREMAPS_H
#define POLYATTN_BENCHMARKS_PEERS_FEATUREMAPS_H

#include "Entry.h"
#include <memory>

namespace polyattn::bench {

enum class Side { Query, Key };

/// A feature map in two steps: leaves, whose inner products make the scores of the diagonal
/// block, and the features that the state is made of. Matrices are row-major and contiguous
/// unless a stride is given. Made once per call, so weights may be arranged as suits OpenBLAS.
class FeatureMap {
public:
  virtual ~FeatureMap() = default;
  /// out [rows, leafWidth] from x, whose rows are `stride` apart.
  virtual void leaves(const float *x, int64_t stride, int64_t rows, Side side, float *out) = 0;
  /// out [rows, features] from leaves. Not called where the leaves are the features.
  virtual void expand(const float *leaves, int64_t rows, Side side, float *out) {}
  virtual bool leavesAreFeatures() const { return true; }
  /// Inner products of leaves to scores, in place.
  virtual void scores(float *products, int64_t count) const {}
};

std::unique_ptr<FeatureMap> makeFeatureMap(const Entry &entry, const Tensors &tensors);

} // namespace polyattn::bench

#endif // POLYATTN_BENCHMARKS_PEERS_FEATUREMAPS_H

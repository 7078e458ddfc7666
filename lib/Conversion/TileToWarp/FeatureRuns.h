//===- FeatureRuns.h - features that lie as products of fragments do -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_FEATURERUNS_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_FEATURERUNS_H

#include "dialects/Tile/Tile.h"

namespace polyattn::tile_to_warp {

/// Features of degree two in runs that have few factors: feature 8 i + j of a run is the product of
/// the source's rows `leftRows` + i and `rightRows` + j, for i below `leftCount` and j below 8.
/// Symmetric powers in blocks of 8 are such, and tensor products of wide vectors.
struct FeatureRuns {
  int64_t leftCount = 0;                          // 2, 4 or 8
  llvm::SmallVector<int32_t> leftRows, rightRows; // multiples of `leftCount` and of 8, for each run
  llvm::SmallVector<double> weights;              // of each run; empty where all are 1

  int64_t features() const { return 8 * leftCount; }
  /// The runs of an op's table, as long as the block that is taken from it begins and ends with a
  /// run: the longest ones that there are, or none.
  static std::optional<FeatureRuns> of(tile::MonomialsOp monomials);
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_FEATURERUNS_H

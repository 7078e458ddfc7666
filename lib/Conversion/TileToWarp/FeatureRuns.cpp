//===- FeatureRuns.cpp - features that lie as products of fragments do ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureRuns.h"
#include "Layout.h"
#include "lib/TileAnalysis/Divisibility.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile_to_warp;
using namespace polyattn::tile;

static std::optional<FeatureRuns> runsOf(ArrayRef<int32_t> table, ArrayRef<double> weights,
                                         int64_t leftCount) {
  FeatureRuns runs;
  runs.leftCount = leftCount;
  int64_t features = table.size() / 2;
  if (features % runs.features())
    return std::nullopt;
  for (int64_t first = 0; first < features; first += runs.features()) {
    int32_t left = table[2 * first], right = table[2 * first + 1];
    double weight = weights.empty() ? 1 : weights[first];
    if (left % leftCount || right % 8)
      return std::nullopt;
    for (int64_t i = 0; i < runs.features(); ++i) {
      int64_t feature = first + i;
      if (table[2 * feature] != left + i / 8 || table[2 * feature + 1] != right + i % 8 ||
          (!weights.empty() && weights[feature] != weight))
        return std::nullopt;
    }
    runs.leftRows.push_back(left);
    runs.rightRows.push_back(right);
    runs.weights.push_back(weight);
  }
  if (llvm::all_of(runs.weights, [](double weight) { return weight == 1; }))
    runs.weights.clear();
  return runs;
}

std::optional<FeatureRuns> FeatureRuns::of(MonomialsOp monomials) {
  if (cast<ShapedType>(monomials.getTable().getType()).getDimSize(1) != 2)
    return std::nullopt;
  auto table = llvm::to_vector(monomials.getTable().getValues<int32_t>());
  ArrayRef<double> weights = monomials.getWeights().value_or(ArrayRef<double>());
  int64_t rows = monomials.getResult().getType().getRows();
  for (int64_t leftCount : {8, 4, 2}) {
    if (rows % (8 * leftCount) || knownDivisor(monomials.getFirst()) % (8 * leftCount))
      continue;
    if (std::optional<FeatureRuns> runs = runsOf(table, weights, leftCount))
      return runs;
  }
  return std::nullopt;
}

//===- ChunkedAttention.cpp - linear-time attention on OpenBLAS -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkedAttention.h"
#include "Blas.h"
#include "FeatureMaps.h"
#include <algorithm>

using namespace polyattn::bench;

namespace {

/// One head, from its first position to its last.
class HeadSweep {
public:
  HeadSweep(const Entry &entry, const Blocking &blocking, FeatureMap &map, int64_t tokens,
            int64_t heads)
      : entry(entry), map(map), tokens(tokens), stride(heads * entry.width),
        valueStride(heads * entry.valueWidth),
        // Without a local kernel a block is a chunk: any length gives the same numbers.
        block(entry.localBlock ? entry.localBlock : blocking.chunk),
        chunk(std::min(blocking.chunk, block)), tile(std::min(blocking.tile, chunk)),
        normalized(entry.normalizer != Normalizer::None), queryLeaves(chunk * entry.leafWidth),
        keyLeaves(block * entry.leafWidth), features(chunk * entry.features), scores(tile * block),
        denominators(chunk), state(entry.features * entry.valueWidth), keySum(entry.features) {}

  void run(const float *q, const float *k, const float *v, float *o) {
    std::fill(state.begin(), state.end(), 0.0f);
    std::fill(keySum.begin(), keySum.end(), 0.0f);
    for (int64_t start = 0; start < tokens; start += block) {
      int64_t end = std::min(start + block, tokens);
      map.leaves(k + start * stride, stride, end - start, Side::Key, keyLeaves.data());
      for (int64_t i = start; i < end; i += chunk)
        answer(q, v, o, start, i, std::min(chunk, end - i));
      if (end == tokens)
        return; // nothing reads the state any more
      for (int64_t i = start; i < end; i += chunk)
        absorb(v, start, i, std::min(chunk, end - i));
    }
  }

private:
  /// The results of the `rows` queries from i on, of the block that begins at `start`.
  void answer(const float *q, const float *v, float *o, int64_t start, int64_t i, int64_t rows) {
    map.leaves(q + i * stride, stride, rows, Side::Query, queryLeaves.data());
    std::fill_n(denominators.begin(), rows, 0.0f);
    if (start > 0)
      readState(o + i * valueStride, rows);
    for (int64_t r = 0; r < rows; r += tile) {
      int64_t tileRows = std::min(tile, rows - r), keys = i + r + tileRows - start;
      blasProduct(Operand::AsIs, Operand::Transposed, tileRows, keys, entry.leafWidth,
                  &queryLeaves[r * entry.leafWidth], entry.leafWidth, keyLeaves.data(),
                  entry.leafWidth, scores.data(), keys, false);
      map.scores(scores.data(), tileRows * keys);
      for (int64_t row = 0; row < tileRows; ++row)
        maskAndSum(&scores[row * keys], keys - tileRows + row + 1, keys, denominators[r + row]);
      blasProduct(tileRows, entry.valueWidth, keys, scores.data(), keys, v + start * valueStride,
                  valueStride, o + (i + r) * valueStride, valueStride, start > 0);
    }
    if (!normalized)
      return;
    float addend = entry.normalizer == Normalizer::OnePlusSum ? 1.0f : float(entry.eps);
    for (int64_t r = 0; r < rows; ++r) {
      float *row = o + (i + r) * valueStride, factor = 1 / (denominators[r] + addend);
      for (int64_t c = 0; c < entry.valueWidth; ++c)
        row[c] *= factor;
    }
  }

  void maskAndSum(float *row, int64_t seen, int64_t keys, float &sum) const {
#pragma clang fp reassociate(on)
    std::fill(row + seen, row + keys, 0.0f);
    if (!normalized)
      return;
    float rowSum = 0;
    for (int64_t j = 0; j < seen; ++j)
      rowSum += row[j];
    sum += rowSum;
  }

  const float *expanded(const float *leaves, int64_t rows, Side side) {
    if (map.leavesAreFeatures())
      return leaves;
    map.expand(leaves, rows, side, features.data());
    return features.data();
  }

  /// o = phi_q S, the denominators phi_q z.
  void readState(float *o, int64_t rows) {
    const float *phi = expanded(queryLeaves.data(), rows, Side::Query);
    blasProduct(rows, entry.valueWidth, entry.features, phi, entry.features, state.data(),
                entry.valueWidth, o, valueStride, false);
    if (normalized)
      cblas_sgemv(CblasRowMajor, CblasNoTrans, blasint(rows), blasint(entry.features), 1, phi,
                  blasint(entry.features), keySum.data(), 1, 0, denominators.data(), 1);
  }

  /// S += phi_k^T v, z += the sum of phi_k's rows.
  void absorb(const float *v, int64_t start, int64_t i, int64_t rows) {
    const float *phi = expanded(&keyLeaves[(i - start) * entry.leafWidth], rows, Side::Key);
    blasProduct(Operand::Transposed, Operand::AsIs, entry.features, entry.valueWidth, rows, phi,
                entry.features, v + i * valueStride, valueStride, state.data(), entry.valueWidth,
                true);
    if (normalized)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t f = 0; f < entry.features; ++f)
          keySum[f] += phi[r * entry.features + f];
  }

  const Entry &entry;
  FeatureMap &map;
  int64_t tokens, stride, valueStride, block, chunk, tile;
  bool normalized;
  std::vector<float> queryLeaves, keyLeaves, features, scores, denominators, state, keySum;
};

} // namespace

void polyattn::bench::chunkedAttention(const Entry &entry, const Sizes &sizes, Tensors &tensors,
                                       const Blocking &blocking) {
  std::unique_ptr<FeatureMap> map = makeFeatureMap(entry, tensors);
  HeadSweep sweep(entry, blocking, *map, sizes.tokens, sizes.heads);
  for (int64_t head = 0; head < sizes.batch * sizes.heads; ++head) {
    int64_t first = head / sizes.heads * sizes.tokens * sizes.heads + head % sizes.heads;
    sweep.run(&tensors.q[first * entry.width], &tensors.k[first * entry.width],
              &tensors.v[first * entry.valueWidth], &tensors.o[first * entry.valueWidth]);
  }
}

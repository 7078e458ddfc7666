//===- SoftmaxAttention.cpp - causal softmax attention --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxAttention.h"
#include "Exp.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace polyattn::bench;

namespace {

constexpr int64_t kQueryBlock = 64;
/// 64 x 256 scores and the keys and values behind them stay in the second-level cache.
constexpr int64_t kKeyBlock = 256;

/// One head's keys, transposed by blocks: [block][d][kKeyBlock]. Transposed once, since every
/// later query block reads them again.
void transposeKeys(const float *k, int64_t stride, int64_t tokens, int64_t width,
                   std::vector<float> &out) {
  int64_t blocks = (tokens + kKeyBlock - 1) / kKeyBlock;
  out.assign(size_t(blocks * width * kKeyBlock), 0.0f);
  for (int64_t j = 0; j < tokens; ++j) {
    float *block = out.data() + j / kKeyBlock * width * kKeyBlock + j % kKeyBlock;
    for (int64_t c = 0; c < width; ++c)
      block[c * kKeyBlock] = k[j * stride + c];
  }
}

/// Sixteen maxima side by side: one would not vectorize, for what a NaN means.
float largest(const float *row, int64_t count) {
  constexpr int kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
  int64_t whole = count / kLanes * kLanes;
  for (int64_t j = 0; j < whole; j += kLanes)
    for (int l = 0; l < kLanes; ++l)
      lanes[l] = lanes[l] > row[j + l] ? lanes[l] : row[j + l];
  for (int64_t j = whole; j < count; ++j)
    lanes[0] = std::max(lanes[0], row[j]);
  return *std::max_element(lanes, lanes + kLanes);
}

struct Rows {
  std::vector<float> maximum, sum;
};

/// Scores to weights in place: exp(s - new maximum), and what was summed so far scaled to it.
void weigh(float *scores, int64_t rows, int64_t keys, int64_t firstQuery, int64_t firstKey,
           Rows &state, float *o, int64_t oStride, int64_t valueWidth) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < rows; ++i) {
    float *row = scores + i * kKeyBlock;
    int64_t seen = std::clamp<int64_t>(firstQuery + i + 1 - firstKey, 0, keys);
    float maximum = std::max(state.maximum[i], largest(row, seen));
    float sum = 0;
    if (seen > 0) {
#pragma clang fp reassociate(on)
      for (int64_t j = 0; j < seen; ++j) {
        row[j] = expOfNegative(row[j] - maximum);
        sum += row[j];
      }
    }
    std::fill(row + seen, row + keys, 0.0f);
    if (maximum == kNone)
      continue;
    float correction = std::exp(state.maximum[i] - maximum);
    if (correction != 1.0f)
      for (int64_t c = 0; c < valueWidth; ++c)
        o[i * oStride + c] *= correction;
    state.sum[i] = state.sum[i] * correction + sum;
    state.maximum[i] = maximum;
  }
}

} // namespace

void polyattn::bench::softmaxAttention(const AttentionShape &shape, const float *q, const float *k,
                                       const float *v, float *o, MatrixProduct product) {
  const int64_t width = shape.width, valueWidth = shape.valueWidth;
  const int64_t stride = shape.heads * width, valueStride = shape.heads * valueWidth;
  const float scale = 1.0f / std::sqrt(float(width));
  std::vector<float> keys, queries(kQueryBlock * width), scores(kQueryBlock * kKeyBlock);
  for (int64_t head = 0; head < shape.batch * shape.heads; ++head) {
    int64_t start = head / shape.heads * shape.tokens * shape.heads + head % shape.heads;
    const float *headQ = q + start * width, *headV = v + start * valueWidth;
    float *headO = o + start * valueWidth;
    transposeKeys(k + start * width, stride, shape.tokens, width, keys);
    for (int64_t i = 0; i < shape.tokens; i += kQueryBlock) {
      int64_t rows = std::min(kQueryBlock, shape.tokens - i);
      Rows state{std::vector<float>(rows, -std::numeric_limits<float>::infinity()),
                 std::vector<float>(rows, 0.0f)};
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < width; ++c)
          queries[r * width + c] = headQ[(i + r) * stride + c] * scale;
        std::fill_n(headO + (i + r) * valueStride, valueWidth, 0.0f);
      }
      for (int64_t j = 0; j < i + rows; j += kKeyBlock) {
        // Keys beyond the last query of this block are not computed at all.
        int64_t count = std::min(kKeyBlock, i + rows - j);
        product(rows, count, width, queries.data(), width, keys.data() + j * width, kKeyBlock,
                scores.data(), kKeyBlock, false);
        weigh(scores.data(), rows, count, i, j, state, headO + i * valueStride, valueStride,
              valueWidth);
        product(rows, valueWidth, count, scores.data(), kKeyBlock, headV + j * valueStride,
                valueStride, headO + i * valueStride, valueStride, true);
      }
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < valueWidth; ++c)
          headO[(i + r) * valueStride + c] /= state.sum[r];
    }
  }
}

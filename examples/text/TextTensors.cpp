//===- TextTensors.cpp - attention inputs from the bytes of a text --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextTensors.h"
#include "benchmarks/softmax/SoftmaxAttention.h"
#include <cmath>
#include <random>

using namespace polyattn::text;

Tensor polyattn::text::normalTensor(std::vector<int64_t> sizes, double deviation, uint64_t seed) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  Tensor tensor{std::move(sizes), std::vector<float>(count)};
  // Not std::normal_distribution, whose numbers each library chooses for itself.
  std::mt19937_64 random(seed);
  auto uniform = [&] { return (double(random() >> 11) + 0.5) * 0x1p-53; };
  for (float &x : tensor.data) {
    double radius = std::sqrt(-2 * std::log(uniform()));
    x = float(deviation * radius * std::cos(2 * M_PI * uniform()));
  }
  return tensor;
}

static void layerNormalize(float *row, int64_t width) {
  double mean = 0, variance = 0;
  for (int64_t c = 0; c < width; ++c)
    mean += row[c] / double(width);
  for (int64_t c = 0; c < width; ++c)
    variance += (row[c] - mean) * (row[c] - mean) / double(width);
  for (int64_t c = 0; c < width; ++c)
    row[c] = float((row[c] - mean) / std::sqrt(variance + 1e-5));
}

Tensor polyattn::text::embedBytes(const std::string &text, int64_t tokens, int64_t width,
                                  uint64_t seed) {
  Tensor table = normalTensor({256, width}, 1, seed);
  Tensor x{{tokens, width}, std::vector<float>(tokens * width)};
  for (int64_t i = 0; i < tokens; ++i) {
    auto byte = static_cast<unsigned char>(text[size_t(i) % text.size()]);
    float *row = &x.data[i * width];
    for (int64_t c = 0; c < width; ++c) {
      int64_t pair = c / 2 * 2;
      double angle = double(i) / std::pow(10000.0, double(pair) / double(width));
      row[c] = table.data[byte * width + c] + float(c % 2 ? std::cos(angle) : std::sin(angle));
    }
    layerNormalize(row, width);
  }
  return x;
}

Tensor polyattn::text::projectToHeads(const Tensor &x, int64_t heads, int64_t headWidth,
                                      uint64_t seed) {
  int64_t tokens = x.sizes[0], width = x.sizes[1], columns = heads * headWidth;
  Tensor weight = normalTensor({width, columns}, 1 / std::sqrt(double(width)), seed);
  Tensor y{{1, tokens, heads, headWidth}, std::vector<float>(tokens * columns)};
  bench::plainProduct(tokens, columns, width, x.data.data(), width, weight.data.data(), columns,
                      y.data.data(), columns, false);
  return y;
}

//===- Entry.cpp - the measured attentions, as their peers see them -------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include "polyattn/Entry/LargePages.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace polyattn::bench;

static const std::vector<Entry> &entries() {
  static const std::vector<Entry> list = {
      {"llops_d64_m1024", System::Llops, 64, 64, 1024, 1024},
      {"llops_d128_m256", System::Llops, 128, 128, 256, 256},
      {"polysketch_d64_r32", System::Sketch, 64, 64, 528, 64, Normalizer::OnePlusSum, 0, 64},
      {"power_d64_p2", System::Power, 64, 64, 2080, 64, Normalizer::SumPlusEps, 1e-6},
      {"based_d64", System::Based, 64, 64, 153, 16, Normalizer::SumPlusEps, 1e-12},
      {"linear_d64", System::Linear, 64, 64, 64, 64, Normalizer::SumPlusEps, 1e-6},
      {"softmax_d64", System::Softmax, 64, 64, 0, 64},
  };
  return list;
}

const Entry *polyattn::bench::findEntry(const std::string &name) {
  for (const Entry &entry : entries())
    if (entry.name == name)
      return &entry;
  return nullptr;
}

std::string polyattn::bench::entryNames() {
  std::string names;
  for (const Entry &entry : entries())
    names += (names.empty() ? "" : ", ") + entry.name;
  return names;
}

Tensors polyattn::bench::makeTensors(const Entry &entry, const Sizes &sizes) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto reserved = [](int64_t count) {
    std::vector<float> data;
    data.reserve(count);
    adviseLargePages(data.data(), count * sizeof(float)); // as polyattn-run does for its own
    data.resize(count);
    return data;
  };
  auto make = [&](int64_t count, float scale) {
    std::vector<float> data = reserved(count);
    for (float &x : data)
      x = scale * normal(random);
    return data;
  };
  int64_t rows = sizes.batch * sizes.tokens * sizes.heads;
  Tensors tensors;
  tensors.q = make(rows * entry.width, 1);
  tensors.k = make(rows * entry.width, 1);
  tensors.v = make(rows * entry.valueWidth, 1);
  tensors.o = reserved(rows * entry.valueWidth);
  float scale = 1 / std::sqrt(float(entry.width));
  switch (entry.system) {
  case System::Llops: // theta_q1, theta_q2, theta_k1, theta_k2
    for (int i = 0; i < 4; ++i)
      tensors.weights.push_back(make(entry.width * entry.features, scale));
    break;
  case System::Sketch: // gamma, beta, g1, g2
    tensors.weights = {make(entry.width, 0.1f), make(entry.width, 0.1f),
                       make(entry.width * 32, scale), make(entry.width * 32, scale)};
    for (float &gain : tensors.weights[0])
      gain += 1;
    break;
  case System::Based: // w_q, w_k
    tensors.weights = {make(entry.width * 16, scale), make(entry.width * 16, scale)};
    break;
  case System::Power:
  case System::Linear:
  case System::Softmax:
    break;
  }
  return tensors;
}

double polyattn::bench::countFlops(const Entry &entry, const Sizes &sizes) {
  double tokens = sizes.tokens, values = entry.valueWidth;
  double pairCost = 2.0 * entry.leafWidth + 2 * values;
  double heads = double(sizes.batch) * sizes.heads;
  if (entry.system == System::Softmax)
    return heads * tokens * (tokens + 1) / 2 * pairCost;
  double block = entry.localBlock ? entry.localBlock : 64;
  double whole = std::floor(tokens / block), rest = tokens - whole * block;
  double pairs = whole * block * (block + 1) / 2 + rest * (rest + 1) / 2;
  double program = 0; // of one vector
  double expansion = 0;
  switch (entry.system) {
  case System::Llops:
    program = 2 * 2.0 * entry.width * entry.features + entry.features;
    break;
  case System::Sketch:
    program = 2 * 2.0 * entry.width * 32 + 64 + 7.0 * entry.width;
    expansion = entry.features;
    break;
  case System::Power:
    program = entry.width;
    expansion = entry.features;
    break;
  case System::Based:
    program = 2.0 * entry.width * 16 + 2 * 16;
    expansion = 136;
    break;
  default:
    program = entry.width;
    break;
  }
  // The first block reads no state, and nothing reads the last one's.
  double readers = std::max(0.0, tokens - block);
  double writers = std::max(0.0, (std::ceil(tokens / block) - 1) * block);
  double state = (readers + writers) * (2.0 * entry.features * values + expansion);
  return heads * (pairs * pairCost + 2 * tokens * program + state);
}

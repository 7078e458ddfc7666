//===- DirectAttention.cpp - the measured attentions by direct loops in f64 ===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the definitions, not the chunked code: every score from its formula, every sum in order.
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include <cmath>

using namespace polyattn::bench;

namespace {

using Row = std::vector<double>;

double dot(const Row &a, const Row &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

Row project(const Row &x, const std::vector<float> &weight) {
  size_t columns = weight.size() / x.size();
  Row y(columns);
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < columns; ++j)
      y[j] += x[i] * weight[i * columns + j];
  return y;
}

Row times(Row a, const Row &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] *= b[i];
  return a;
}

Row layerNorm(const Row &x, const std::vector<float> &gamma, const std::vector<float> &beta) {
  double mean = 0, variance = 0;
  for (double value : x)
    mean += value / double(x.size());
  for (double value : x)
    variance += (value - mean) * (value - mean) / double(x.size());
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * gamma[i] + beta[i];
  return y;
}

/// What a score needs of one vector: `leaf` for the state's kernel, `local` for the exact one.
struct Prepared {
  Row leaf, local;
};

Prepared prepare(const Entry &entry, const Tensors &tensors, const float *x, bool isQuery) {
  Row row(x, x + entry.width);
  const auto &weights = tensors.weights;
  switch (entry.system) {
  case System::Llops: {
    size_t first = isQuery ? 0 : 2;
    return {times(project(row, weights[first]), project(row, weights[first + 1])), {}};
  }
  case System::Sketch: {
    Row normal = layerNorm(row, weights[0], weights[1]);
    Row psi = times(project(normal, weights[2]), project(normal, weights[3]));
    for (double &value : psi)
      value /= std::sqrt(32.0);
    return {psi, normal};
  }
  case System::Based:
    return {project(row, weights[isQuery ? 0 : 1]), {}};
  case System::Linear:
    for (double &value : row)
      value = value > 0 ? value + 1 : std::exp(value);
    return {row, {}};
  case System::Power:
  case System::Softmax:
    break;
  }
  return {row, {}};
}

double score(const Entry &entry, const Prepared &q, const Prepared &k, bool sameBlock) {
  double s = dot(q.leaf, k.leaf);
  switch (entry.system) {
  case System::Sketch:
    return sameBlock ? std::pow(dot(q.local, k.local), 4) : s * s;
  case System::Power:
    return s * s / double(entry.width);
  case System::Based:
    s /= 4; // sqrt(16)
    return 1 + s + s * s / 2;
  case System::Softmax:
    return std::exp(s / std::sqrt(double(entry.width)));
  case System::Llops:
  case System::Linear:
    break;
  }
  return s;
}

} // namespace

std::vector<double> polyattn::bench::directAttention(const Entry &entry, const Sizes &sizes,
                                                     const Tensors &tensors) {
  std::vector<double> result(tensors.o.size());
  int64_t heads = sizes.heads, block = entry.localBlock ? entry.localBlock : 1;
  for (int64_t head = 0; head < sizes.batch * heads; ++head) {
    int64_t first = head / heads * sizes.tokens * heads + head % heads;
    std::vector<Prepared> keys;
    for (int64_t i = 0; i < sizes.tokens; ++i) {
      int64_t row = first + i * heads;
      keys.push_back(prepare(entry, tensors, &tensors.k[row * entry.width], false));
      Prepared query = prepare(entry, tensors, &tensors.q[row * entry.width], true);
      double *out = &result[row * entry.valueWidth], denominator = 0;
      for (int64_t j = 0; j <= i; ++j) {
        double weight = score(entry, query, keys[j], i / block == j / block);
        denominator += weight;
        const float *value = &tensors.v[(first + j * heads) * entry.valueWidth];
        for (int64_t c = 0; c < entry.valueWidth; ++c)
          out[c] += weight * value[c];
      }
      if (entry.normalizer == Normalizer::OnePlusSum)
        denominator += 1;
      else if (entry.normalizer == Normalizer::SumPlusEps)
        denominator += entry.eps;
      else if (entry.system != System::Softmax)
        continue;
      for (int64_t c = 0; c < entry.valueWidth; ++c)
        out[c] /= denominator;
    }
  }
  return result;
}

//===- FeatureMaps.cpp - what chunked attention needs of a feature map ----===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureMaps.h"
#include "Blas.h"
#include "benchmarks/softmax/Exp.h"
#include <algorithm>
#include <cmath>

using namespace polyattn::bench;

namespace {

/// [a | b] column by column: two projections as one product, which OpenBLAS does faster.
std::vector<float> sideBySide(const std::vector<float> &a, const std::vector<float> &b,
                              int64_t rows) {
  int64_t columns = int64_t(a.size()) / rows;
  std::vector<float> both(a.size() + b.size());
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(&a[i * columns], columns, &both[2 * i * columns]);
    std::copy_n(&b[i * columns], columns, &both[(2 * i + 1) * columns]);
  }
  return both;
}

/// out[i] = factor * (left half of row i) * (right half).
void multiplyHalves(const float *both, int64_t rows, int64_t columns, float factor, float *out) {
  for (int64_t i = 0; i < rows; ++i) {
    const float *__restrict left = both + 2 * i * columns, *__restrict right = left + columns;
    float *__restrict row = out + i * columns;
    for (int64_t c = 0; c < columns; ++c)
      row[c] = factor * left[c] * right[c];
  }
}

/// The products x_a x_b, a <= b, off-diagonal ones times `offDiagonal`.
void squareSymmetric(const float *x, int64_t width, float factor, float offDiagonal,
                     float *__restrict out) {
  for (int64_t a = 0; a < width; ++a) {
    const float *__restrict right = x + a;
    float first = factor * x[a];
    *out++ = first * x[a];
    first *= offDiagonal;
    int64_t rest = width - a - 1;
    for (int64_t b = 0; b < rest; ++b)
      out[b] = first * right[b + 1];
    out += rest;
  }
}

/// The weight of a monomial goes to the query's side: no square root on both.
float offDiagonalWeight(Side side) { return side == Side::Query ? 2.0f : 1.0f; }

/// LLoPS, p = 2: (x Theta1) * (x Theta2).
class Llops : public FeatureMap {
public:
  Llops(const Entry &entry, const Tensors &tensors) : width(entry.width), columns(entry.features) {
    for (int side = 0; side < 2; ++side)
      weights[side] =
          sideBySide(tensors.weights[2 * side], tensors.weights[2 * side + 1], entry.width);
  }
  void leaves(const float *x, int64_t stride, int64_t rows, Side side, float *out) override {
    projected.resize(rows * 2 * columns);
    blasProduct(rows, 2 * columns, width, x, stride, weights[int(side)].data(), 2 * columns,
                projected.data(), 2 * columns, false);
    multiplyHalves(projected.data(), rows, columns, 1, out);
  }

private:
  int64_t width, columns;
  std::vector<float> weights[2], projected;
};

/// Layer norm; the state's features are the square of (x G1) * (x G2) / sqrt(32).
class Sketch : public FeatureMap {
public:
  static constexpr int64_t kRank = 32;
  Sketch(const Entry &entry, const Tensors &tensors)
      : width(entry.width), features(entry.features), gamma(tensors.weights[0]),
        beta(tensors.weights[1]),
        weights(sideBySide(tensors.weights[2], tensors.weights[3], entry.width)) {}
  bool leavesAreFeatures() const override { return false; }
  void leaves(const float *x, int64_t stride, int64_t rows, Side, float *out) override {
    for (int64_t i = 0; i < rows; ++i)
      normalize(x + i * stride, out + i * width);
  }
  void expand(const float *leaves, int64_t rows, Side side, float *out) override {
    projected.resize(rows * 2 * kRank);
    psi.resize(rows * kRank);
    blasProduct(rows, 2 * kRank, width, leaves, width, weights.data(), 2 * kRank, projected.data(),
                2 * kRank, false);
    multiplyHalves(projected.data(), rows, kRank, 1 / std::sqrt(float(kRank)), psi.data());
    for (int64_t i = 0; i < rows; ++i)
      squareSymmetric(&psi[i * kRank], kRank, 1, offDiagonalWeight(side), out + i * features);
  }
  void scores(float *products, int64_t count) const override {
    for (int64_t i = 0; i < count; ++i) {
      float square = products[i] * products[i];
      products[i] = square * square;
    }
  }

private:
  void normalize(const float *x, float *__restrict out) const {
#pragma clang fp reassociate(on)
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < width; ++c)
      sum += x[c];
    float mean = sum / float(width);
    for (int64_t c = 0; c < width; ++c)
      squares += (x[c] - mean) * (x[c] - mean);
    float factor = 1 / std::sqrt(squares / float(width) + 1e-5f);
    for (int64_t c = 0; c < width; ++c)
      out[c] = (x[c] - mean) * factor * gamma[c] + beta[c];
  }

  int64_t width, features;
  std::vector<float> gamma, beta, weights, projected, psi;
};

/// <x, y>^2 / d on the sorted monomials.
class Power : public FeatureMap {
public:
  explicit Power(const Entry &entry) : width(entry.width), features(entry.features) {}
  bool leavesAreFeatures() const override { return false; }
  void leaves(const float *x, int64_t stride, int64_t rows, Side, float *out) override {
    float factor = 1 / std::sqrt(std::sqrt(float(width)));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < width; ++c)
        out[i * width + c] = factor * x[i * stride + c];
  }
  void expand(const float *leaves, int64_t rows, Side side, float *out) override {
    for (int64_t i = 0; i < rows; ++i)
      squareSymmetric(leaves + i * width, width, 1, offDiagonalWeight(side), out + i * features);
  }
  void scores(float *products, int64_t count) const override {
    for (int64_t i = 0; i < count; ++i)
      products[i] *= products[i];
  }

private:
  int64_t width, features;
};

/// 1 + s + s^2 / 2 for s = <x W / 2, y W' / 2>.
class Based : public FeatureMap {
public:
  static constexpr int64_t kRank = 16;
  Based(const Entry &entry, const Tensors &tensors)
      : width(entry.width), features(entry.features),
        weights{tensors.weights[0], tensors.weights[1]} {
    for (std::vector<float> &weight : weights)
      for (float &x : weight)
        x *= 0.5f;
  }
  bool leavesAreFeatures() const override { return false; }
  void leaves(const float *x, int64_t stride, int64_t rows, Side side, float *out) override {
    blasProduct(rows, kRank, width, x, stride, weights[int(side)].data(), kRank, out, kRank, false);
  }
  void expand(const float *leaves, int64_t rows, Side side, float *out) override {
    for (int64_t i = 0; i < rows; ++i) {
      const float *x = leaves + i * kRank;
      float *row = out + i * features;
      row[0] = 1;
      std::copy_n(x, kRank, row + 1);
      squareSymmetric(x, kRank, side == Side::Query ? 0.5f : 1.0f, offDiagonalWeight(side),
                      row + 1 + kRank);
    }
  }
  void scores(float *products, int64_t count) const override {
    for (int64_t i = 0; i < count; ++i)
      products[i] = 1 + products[i] + 0.5f * products[i] * products[i];
  }

private:
  int64_t width, features;
  std::vector<float> weights[2];
};

/// elu(x) + 1.
class Linear : public FeatureMap {
public:
  explicit Linear(const Entry &entry) : width(entry.width) {}
  void leaves(const float *x, int64_t stride, int64_t rows, Side, float *out) override {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < width; ++c) {
        float value = x[i * stride + c];
        out[i * width + c] = expOfNegative(value < 0 ? value : 0.0f) + (value > 0 ? value : 0.0f);
      }
  }

private:
  int64_t width;
};

} // namespace

std::unique_ptr<FeatureMap> polyattn::bench::makeFeatureMap(const Entry &entry,
                                                            const Tensors &tensors) {
  switch (entry.system) {
  case System::Llops:
    return std::make_unique<Llops>(entry, tensors);
  case System::Sketch:
    return std::make_unique<Sketch>(entry, tensors);
  case System::Power:
    return std::make_unique<Power>(entry);
  case System::Based:
    return std::make_unique<Based>(entry, tensors);
  case System::Linear:
    return std::make_unique<Linear>(entry);
  case System::Softmax:
    break;
  }
  return nullptr;
}

//===- LlopsTest.cpp - a whole tile kernel against the definition -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// test/Tile/llops.mlir for lengths around the block, two heads of queries on one of keys.

#include "test/Support/KernelRunner.h"
#include "gtest/gtest.h"
#include <cmath>
#include <fstream>
#include <sstream>

using namespace polyattn;
using namespace polyattn::test;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Llops : public ::testing::TestWithParam<int64_t> {};

INSTANTIATE_TEST_SUITE_P(Widths, Llops, ::testing::Values(16, 8, 4),
                         [](const auto &info) { return "W" + std::to_string(info.param); });

TEST_P(Llops, MatchesTheDefinition) {
  Kernel kernel(
      readFile(POLYATTN_TEST_DIR "/Tile/llops.mlir"),
      {GetParam(), GetParam() == 16 ? 32 : 16, 32768, Instructions::Fma | Instructions::Round});
  ASSERT_TRUE(kernel.valid()) << kernel.error();
  std::mt19937 random(7);
  const int64_t B = 2, H = 2, Hkv = 1, d = 64, m = 256, dv = 64;
  for (int64_t T : {0, 1, 63, 64, 65, 200}) {
    TestTensor q({B, T, H, d}), k({B, T, Hkv, d}), v({B, T, Hkv, dv}), o({B, T, H, dv});
    TestTensor wq1({d, m}), wq2({d, m}), wk1({d, m}), wk2({d, m});
    for (TestTensor *tensor : {&q, &k, &v, &wq1, &wq2, &wk1, &wk2})
      tensor->fill(random);
    kernel.run({&q, &k, &v, &wq1, &wq2, &wk1, &wk2, &o}, 0, B * H);
    EXPECT_EQ(kernel.error(), "");
    EXPECT_TRUE(o.paddingIsIntact());
    // Copies for speed: elements of a tensor are read one by one.
    auto matrix = [&](TestTensor &w) {
      std::vector<double> numbers;
      for (int64_t i = 0; i < d; ++i)
        for (int64_t f = 0; f < m; ++f)
          numbers.push_back(w.get({i, f}));
      return numbers;
    };
    std::vector<double> q1 = matrix(wq1), q2 = matrix(wq2), k1 = matrix(wk1), k2 = matrix(wk2);
    double error = 0, norm = 0;
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h) {
        std::vector<double> state(m * dv, 0);
        for (int64_t t = 0; t < T; ++t) {
          std::vector<double> x1(m), x2(m), y1(m), y2(m);
          for (int64_t i = 0; i < d; ++i) {
            double x = q.get({b, t, h, i}), y = k.get({b, t, 0, i});
            for (int64_t f = 0; f < m; ++f) {
              x1[f] += q1[i * m + f] * x;
              x2[f] += q2[i * m + f] * x;
              y1[f] += k1[i * m + f] * y;
              y2[f] += k2[i * m + f] * y;
            }
          }
          for (int64_t j = 0; j < dv; ++j) {
            double sum = 0, value = v.get({b, t, 0, j});
            for (int64_t f = 0; f < m; ++f) {
              state[f * dv + j] += y1[f] * y2[f] * value;
              sum += x1[f] * x2[f] * state[f * dv + j];
            }
            double difference = o.get({b, t, h, j}) - sum;
            error += difference * difference;
            norm += sum * sum;
          }
        }
      }
    EXPECT_LE(std::sqrt(error), 1e-6 * std::sqrt(norm)) << "T = " << T;
  }
}

} // namespace

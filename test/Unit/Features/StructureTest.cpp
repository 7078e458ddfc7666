//===- StructureTest.cpp - the algebra of structures ----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/Structure.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace polyattn;

namespace {

TEST(Structure, WidthOfEachKind) {
  Structure x = Structure::vector(64);
  EXPECT_EQ(Structure::tensorPower(x, 2).width(), 4096);
  EXPECT_EQ(Structure::symmetricPower(x, 2).width(), 2080);
  EXPECT_EQ(Structure::tensorProduct({x, Structure::vector(3)}).width(), 192);
  EXPECT_EQ(Structure::concat({Structure::vector(1), x}).width(), 65);
}

TEST(Structure, BasedHas153SymmetricFeatures) {
  Structure x = Structure::vector(16);
  EXPECT_EQ(Structure::concat({Structure::vector(1), x, Structure::symmetricPower(x, 2)}).width(),
            153);
  EXPECT_EQ(Structure::concat({Structure::vector(1), x, Structure::tensorPower(x, 2)}).width(),
            273);
}

TEST(Structure, BlockedSymmetricPowerOfRetention) {
  // shapes.md: power attention stores 2560 features at d = 64 with blocks of 16, and 9216 at 128.
  EXPECT_EQ(Structure::symmetricPower(Structure::vector(64), 2, 16).width(), 2560);
  EXPECT_EQ(Structure::symmetricPower(Structure::vector(128), 2, 16).width(), 9216);
}

TEST(Structure, WidthSaturates) {
  Structure x = Structure::vector(1024);
  EXPECT_EQ(Structure::tensorPower(x, 8).width(), Structure::kHuge);
  EXPECT_EQ(saturatingAdd(Structure::kHuge, Structure::kHuge), Structure::kHuge);
  EXPECT_EQ(saturatingAdd(Structure::kHuge - 1, 1), Structure::kHuge);
  EXPECT_EQ(saturatingAdd(Structure::kHuge - 2, 1), Structure::kHuge - 1);
  // Sym^8 of 64 dimensions: C(71, 8), semantics.md section 2.
  EXPECT_EQ(Structure::symmetricPower(Structure::vector(64), 8).width(), 10639125640);
}

TEST(Structure, CodeRoundTrip) {
  Structure x = Structure::vector(4);
  Structure s =
      Structure::concat({x, Structure::tensorProduct({x, Structure::symmetricPower(x, 2, 2)})});
  EXPECT_EQ(Structure::decode(s.encode()), s);
  EXPECT_EQ(s.str(), "[4] + ([4] x sym 2 block 2 [4])");
}

class MonomialsTest : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

// <phi(x), phi(y)> = <x, y>^p, and as many monomials as the structure says.
TEST_P(MonomialsTest, ScoreIsThePower) {
  auto [n, degree, block] = GetParam();
  std::vector<Monomial> monomials = symmetricMonomials(n, degree, block);
  EXPECT_EQ(int64_t(monomials.size()),
            Structure::symmetricPower(Structure::vector(n), degree, block).width());
  std::mt19937 random(n * 100 + degree * 10 + block);
  std::normal_distribution<double> normal;
  std::vector<double> x(n), y(n);
  double dot = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = normal(random);
    y[i] = normal(random);
    dot += x[i] * y[i];
  }
  double score = 0;
  for (const Monomial &monomial : monomials) {
    double px = monomial.weight, py = monomial.weight;
    for (int64_t index : monomial.indices) {
      px *= x[index];
      py *= y[index];
    }
    score += px * py;
  }
  EXPECT_NEAR(score, std::pow(dot, degree), 1e-9 * (1 + std::fabs(score)) * n);
}

INSTANTIATE_TEST_SUITE_P(Powers, MonomialsTest,
                         testing::Values(std::tuple{5, 1, 1}, std::tuple{5, 2, 1},
                                         std::tuple{5, 3, 1}, std::tuple{4, 4, 1},
                                         std::tuple{6, 2, 2}, std::tuple{6, 3, 2},
                                         std::tuple{6, 2, 3}, std::tuple{8, 4, 4}));

} // namespace

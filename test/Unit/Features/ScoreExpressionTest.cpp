//===- ScoreExpressionTest.cpp - scores computed from inner products ------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Features/ScoreExpression.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace polyattn;
using Score = ScoreExpression;

namespace {

Score s(int64_t leaf) { return Score::leaf(leaf); }
Score n(double value) { return Score::constant(value); }

/// The derivative at `x` by differences on both sides.
double difference(const Score &score, int64_t leaf, std::vector<double> x) {
  double step = 1e-5 * std::max(1.0, std::abs(x[leaf])), middle = x[leaf];
  x[leaf] = middle + step;
  double above = score.evaluate(x);
  x[leaf] = middle - step;
  return (above - score.evaluate(x)) / (2 * step);
}

void expectDerivatives(const Score &score, const std::vector<double> &x) {
  for (size_t leaf = 0; leaf < x.size(); ++leaf) {
    double expected = difference(score, leaf, x);
    EXPECT_NEAR(score.differentiate(leaf).evaluate(x), expected,
                1e-6 * std::max({1.0, std::abs(expected), std::abs(score.evaluate(x))}))
        << score.str() << " by s" << leaf << " is " << score.differentiate(leaf).str();
  }
}

TEST(ScoreExpression, IsEvaluatedAsItsFormulaSays) {
  double a = 0.7, b = -1.3;
  Score taylor = Score::sum({n(1), s(0), Score::product({Score::power(s(0), 2), n(0.5)})});
  EXPECT_DOUBLE_EQ(taylor.evaluate({a}), 1 + a + a * a / 2);
  EXPECT_DOUBLE_EQ(Score::product({s(0), s(1), s(1)}).evaluate({a, b}), a * b * b);
  EXPECT_DOUBLE_EQ(Score::power(s(1), 5).evaluate({a, b}), std::pow(b, 5));
  EXPECT_DOUBLE_EQ(Score::power(s(1), 0).evaluate({a, b}), 1);
  EXPECT_DOUBLE_EQ(Score::power(Score::magnitude(s(1)), 3).evaluate({a, b}), 1.3 * 1.3 * 1.3);
  EXPECT_DOUBLE_EQ(Score::sign(s(1)).evaluate({a, b}), -1);
  EXPECT_DOUBLE_EQ(Score::exponential(s(1)).evaluate({a, b}), std::exp(b));
  EXPECT_DOUBLE_EQ(Score::sign(s(0)).evaluate({0, b}), 0);
}

TEST(ScoreExpression, IsTextThatPeopleRead) {
  Score score = Score::sum({Score::product({Score::power(Score::sum({s(0), n(1)}), 3), n(0.5)}),
                            Score::power(Score::magnitude(s(1)), 3),
                            Score::exponential(Score::sum({s(0), s(1)}))});
  EXPECT_EQ(score.str(), "(s0 + 1)^3 * 0.5 + |s1|^3 + exp(s0 + s1)");
}

TEST(ScoreExpression, EqualTreesAreEqual) {
  EXPECT_EQ(Score::sum({s(0), n(2)}), Score::sum({s(0), n(2)}));
  EXPECT_NE(Score::sum({s(0), n(2)}), Score::sum({s(0), n(3)}));
  EXPECT_NE(Score::sum({s(0), n(2)}), Score::product({s(0), n(2)}));
  EXPECT_NE(s(0), s(1));
  EXPECT_NE(Score::power(s(0), 2), Score::power(s(0), 3));
  // An even power has no sign to lose.
  EXPECT_EQ(Score::power(Score::magnitude(s(0)), 4), Score::power(s(0), 4));
}

TEST(ScoreExpression, DerivativesHaveNoNeedlessTerms) {
  Score score = Score::sum({n(1), s(0), Score::product({Score::power(s(0), 2), n(0.5)}), s(1)});
  EXPECT_EQ(score.differentiate(0).str(), "1 + (2 * s0) * 0.5");
  EXPECT_EQ(score.differentiate(1), n(1));
  EXPECT_EQ(score.differentiate(2), n(0));
  EXPECT_EQ(Score::power(Score::magnitude(s(0)), 3).differentiate(0).str(), "3 * s0^2 * sign(s0)");
  EXPECT_EQ(Score::power(s(0), 1).differentiate(0), n(1));
  EXPECT_EQ(Score::power(s(0), 0).differentiate(0), n(0));
}

TEST(ScoreExpression, MagnitudesAreFlatAtZero) {
  EXPECT_EQ(Score::magnitude(s(0)).differentiate(0).evaluate({0.0}), 0);
  EXPECT_EQ(Score::power(Score::magnitude(s(0)), 3).differentiate(0).evaluate({0.0}), 0);
}

TEST(ScoreExpression, DerivativesAgreeWithDifferences) {
  std::vector<double> x = {0.7, -1.3};
  expectDerivatives(Score::sum({n(1), s(0), Score::product({Score::power(s(0), 2), n(0.5)})}), x);
  expectDerivatives(Score::product({s(0), s(1), s(0), s(1)}), x);
  expectDerivatives(Score::power(Score::sum({s(0), Score::product({s(1), n(-2)})}), 5), x);
  expectDerivatives(Score::power(Score::magnitude(Score::product({s(0), s(1)})), 3), x);
  expectDerivatives(Score::magnitude(s(1)), x);
  expectDerivatives(Score::exponential(Score::product({s(0), s(1)})), x);
}

class RandomScores {
public:
  explicit RandomScores(unsigned seed) : random(seed) {}

  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
  }
  double value() { return std::uniform_real_distribution<double>(-1.5, 1.5)(random); }
  Score score(int64_t leaves, int depth) {
    switch (depth == 0 ? below(4) / 3 : below(7)) {
    case 0:
      return s(below(leaves));
    case 1:
      return n(value());
    case 2:
      return Score::sum(parts(leaves, depth));
    case 3:
      return Score::product(parts(leaves, depth));
    case 4:
      return Score::power(score(leaves, depth - 1), below(5));
    case 5: // of numbers that stay small
      return Score::exponential(Score::product({n(0.1), score(leaves, depth - 1)}));
    default:
      return Score::magnitude(score(leaves, depth - 1));
    }
  }

private:
  std::vector<Score> parts(int64_t leaves, int depth) {
    std::vector<Score> parts;
    for (int64_t i = 0, count = 1 + below(3); i < count; ++i)
      parts.push_back(score(leaves, depth - 1));
    return parts;
  }

  std::mt19937 random;
};

/// Whether the sign of some magnitude's argument changes within the step of a difference.
bool hasKinkNearby(const Score &score, const std::vector<double> &x) {
  if (score.kind() == Score::Kind::Magnitude && std::abs(score.parts()[0].evaluate(x)) < 1e-2)
    return true;
  return llvm::any_of(score.parts(), [&](const Score &part) { return hasKinkNearby(part, x); });
}

TEST(ScoreExpression, DerivativesOfRandomScoresAgreeWithDifferences) {
  constexpr int64_t leaves = 3;
  int checked = 0;
  for (unsigned seed = 0; checked < 300; ++seed) {
    RandomScores random(seed);
    Score score = random.score(leaves, /*depth=*/3);
    std::vector<double> x = {random.value(), random.value(), random.value()};
    // Differences of steep functions say little.
    bool isSteep = false;
    for (int64_t leaf = 0; leaf < leaves; ++leaf)
      isSteep |= std::abs(difference(score, leaf, x)) > 1e3;
    if (isSteep || std::abs(score.evaluate(x)) > 1e3 || hasKinkNearby(score, x))
      continue;
    expectDerivatives(score, x);
    ++checked;
  }
}

} // namespace

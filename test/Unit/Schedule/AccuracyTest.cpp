//===- AccuracyTest.cpp - digits that a form of an attention loses --------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Accuracy.h"
#include "polyattn/Schedule/Schedule.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace polyattn;

namespace {

Structure symmetric(int64_t width, int64_t degree) {
  return Structure::symmetricPower(Structure::vector(width), degree);
}

TEST(Accuracy, StatesLoseByDegreeScoresByFactors) {
  RowErrors plain = RowErrors::of(Structure::vector(12));
  EXPECT_EQ(plain.state, plain.scores);
  RowErrors power = RowErrors::of(symmetric(12, 8));
  EXPECT_NEAR(power.state, 0x1p-24 * std::pow(0x1p24 * plain.state, 8), 1e-9);
  EXPECT_NEAR(power.scores, 8 * plain.scores, 1e-12);
  // Products of vectors multiply in the same way, and of a sum the worst part counts.
  Structure x = Structure::vector(12);
  RowErrors product = RowErrors::of(Structure::tensorProduct({x, symmetric(12, 7)}));
  EXPECT_NEAR(product.state, power.state, 1e-9);
  EXPECT_NEAR(product.scores, power.scores, 1e-12);
  RowErrors sum = RowErrors::of(Structure::concat({x, symmetric(12, 8), symmetric(12, 2)}));
  EXPECT_EQ(sum.state, power.state);
  EXPECT_EQ(sum.scores, power.scores);
}

/// The ratio that the estimates stand on, by drawing rows of 64 keys.
TEST(Accuracy, RatioOfLengthsToScoresIsThatOfNormalVectors) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  for (int64_t width : {1, 2, 4, 12, 64}) {
    double sum = 0;
    constexpr int rows = 400;
    for (int row = 0; row < rows; ++row) {
      double longest = 0, largest = 0;
      for (int key = 0; key < 64; ++key) {
        double square = 0, score = normal(engine); // the query is the first axis
        square = score * score;
        for (int64_t i = 1; i < width; ++i)
          square += std::pow(normal(engine), 2);
        longest = std::max(longest, std::sqrt(square));
        largest = std::max(largest, std::fabs(score));
      }
      sum += longest / largest;
    }
    double estimate = 0x1p24 * RowErrors::of(Structure::vector(width)).state;
    EXPECT_NEAR(estimate, sum / rows, 0.06 * estimate) << width;
  }
}

AttentionShape shapeOf(const Structure &structure, int64_t valueWidth) {
  AttentionShape shape;
  shape.features = structure.width();
  shape.valueWidth = valueWidth;
  shape.scoreWidth = structure.scoreCost();
  shape.hasScoreForm = structure.hasScoreForm();
  shape.errors = RowErrors::of(structure);
  return shape;
}

TEST(Accuracy, InaccurateStatesAreForLongCallsOnly) {
  for (bool causal : {true, false})
    for (bool tensorCores : {false, true}) {
      AttentionShape shape = shapeOf(symmetric(12, 8), 64);
      shape.isOrdered = causal;
      ScheduleMachine machine;
      machine.tensorCores = tensorCores;
      EXPECT_TRUE(shape.wantsScores());
      Schedule careful = chooseSchedule(shape, machine);
      shape.errors = {0, 0};
      Schedule fast = chooseSchedule(shape, machine);
      EXPECT_EQ(careful.form, ScheduleForm::Both);
      EXPECT_EQ(careful.diagonal, ScheduleDiagonal::Scores);
      EXPECT_EQ(fast.form, ScheduleForm::Both);
      EXPECT_EQ(careful.quadraticBelow, 16 * fast.quadraticBelow);
    }
}

/// Few features are summed so fast that the quadratic form alone would not be worth its code.
TEST(Accuracy, CountsMoreThanCode) {
  AttentionShape shape = shapeOf(symmetric(2, 32), 64);
  EXPECT_TRUE(shape.wantsScores());
  EXPECT_EQ(chooseSchedule(shape).form, ScheduleForm::Both);
  EXPECT_GE(chooseSchedule(shape).quadraticBelow, 16 * 64);
  shape.errors = {0, 0};
  EXPECT_EQ(chooseSchedule(shape).form, ScheduleForm::State);
}

TEST(Accuracy, StatesThatMustBeAreHeld) {
  AttentionShape shape = shapeOf(symmetric(12, 8), 64);
  shape.needsState = true;
  EXPECT_EQ(chooseSchedule(shape).form, ScheduleForm::State);
}

/// A local kernel's scores are for pairs of its blocks only: between these a state is as inaccurate
/// as without one.
TEST(Accuracy, LocalBlocksAreBesideScoresOrState) {
  AttentionShape shape = shapeOf(symmetric(12, 8), 64);
  shape.localBlock = 64;
  EXPECT_EQ(chooseSchedule(shape).form, ScheduleForm::Both);
}

/// Lower degrees stay with what is fast.
TEST(Accuracy, StatesOfLowDegreeAreAccurate) {
  for (auto [width, degree] :
       {std::pair(64, 2), std::pair(16, 4), std::pair(32, 3), std::pair(8, 6)})
    EXPECT_FALSE(shapeOf(symmetric(width, degree), 64).wantsScores());
}

} // namespace

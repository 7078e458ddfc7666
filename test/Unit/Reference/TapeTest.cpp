//===- TapeTest.cpp - slopes of single functions ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Tape.h"
#include <functional>
#include <gtest/gtest.h>

using namespace polyattn::reference;

namespace {

using Function = std::function<Variable(Variable, Variable)>;

struct Case {
  const char *name;
  Function function;
  double a, b;
};

/// Slopes of f in its two arguments, from the tape.
std::pair<double, double> slopesOf(const Function &f, double a, double b) {
  Tape tape;
  Variable x = tape.variable(a), y = tape.variable(b);
  tape.seed(f(x, y), 1);
  tape.sweep();
  return {tape.slopeOf(x), tape.slopeOf(y)};
}

class TapeTest : public testing::TestWithParam<Case> {};

TEST_P(TapeTest, SlopesAreDifferences) {
  const auto &[name, f, a, b] = GetParam();
  constexpr double h = 1e-6;
  auto [x, y] = slopesOf(f, a, b);
  EXPECT_NEAR(x, (f(a + h, b).value - f(a - h, b).value) / (2 * h), 1e-8 * (1 + std::fabs(x)));
  EXPECT_NEAR(y, (f(a, b + h).value - f(a, b - h).value) / (2 * h), 1e-8 * (1 + std::fabs(y)));
}

#define POLYATTN_CASE(name, formula, first, second)                                                \
  Case {                                                                                           \
    name, [](Variable a, Variable b) -> Variable { return formula; }, first, second                \
  }

INSTANTIATE_TEST_SUITE_P(
    Functions, TapeTest,
    testing::Values(POLYATTN_CASE("add", a + b, 0.3, -0.7), POLYATTN_CASE("minus", a - b, 0.3, 0.7),
                    POLYATTN_CASE("negate", -a, 0.3, 0), POLYATTN_CASE("multiply", a *b, 0.3, -0.7),
                    POLYATTN_CASE("divide", a / b, 0.3, -0.7),
                    POLYATTN_CASE("square", a *a, -0.3, 0), POLYATTN_CASE("exp", exp(a), -0.7, 0),
                    POLYATTN_CASE("log", log(a), 0.7, 0), POLYATTN_CASE("log1p", log1p(a), 0.7, 0),
                    POLYATTN_CASE("sin", sin(a), 0.7, 0), POLYATTN_CASE("cos", cos(a), 0.7, 0),
                    POLYATTN_CASE("tanh", tanh(a), 0.7, 0), POLYATTN_CASE("erfc", erfc(a), 0.7, 0),
                    POLYATTN_CASE("sqrt", sqrt(a), 0.7, 0), POLYATTN_CASE("abs", fabs(a), -0.7, 0),
                    POLYATTN_CASE("max_of_first", fmax(a, b), 0.7, 0.2),
                    POLYATTN_CASE("max_of_second", fmax(a, b), 0.2, 0.7),
                    POLYATTN_CASE("pow", pow(a, b), 0.7, 2.5),
                    POLYATTN_CASE("pow_of_number_below_zero", pow(a, 3), -0.7, 0),
                    POLYATTN_CASE("used_twice", exp(a *b) * a + b / a, 0.7, -0.4)),
    [](const auto &info) { return std::string(info.param.name); });

TEST(TapeTest, KinksHaveTheSlopeOfOneSideOrNone) {
  auto at = [](const Function &f, double a, double b) { return slopesOf(f, a, b); };
  using Slopes = std::pair<double, double>;
  EXPECT_EQ(at([](Variable a, Variable) { return fabs(a); }, 0, 0), Slopes(0, 0));
  EXPECT_EQ(at([](Variable a, Variable b) { return sqrt(a * a + b * b); }, 0, 0), Slopes(0, 0));
  EXPECT_EQ(at([](Variable a, Variable b) { return fmax(a, b); }, 2, 2), Slopes(1, 0));
  EXPECT_EQ(at([](Variable a, Variable b) { return pow(a, b); }, 0, 2), Slopes(0, 0));
  EXPECT_EQ(at([](Variable a, Variable b) { return pow(a, b); }, 0, 1), Slopes(1, 0));
  EXPECT_EQ(at([](Variable a, Variable b) { return pow(a, b); }, 0, 0), Slopes(0, 0));
}

TEST(TapeTest, WhatIsNotAskedForAddsNothing) {
  // log has an infinite slope at 0, which the branch that is taken does not use.
  auto f = [](Variable a, Variable b) {
    Variable unused = log(a);
    return unused > 0 ? unused : b;
  };
  EXPECT_EQ(slopesOf(f, 0, 3), (std::pair<double, double>(0, 1)));
}

TEST(TapeTest, ConstantsAreNoSteps) {
  Tape tape;
  Variable y = exp(Variable(2) * 3 + 1);
  tape.seed(y, 1);
  tape.sweep();
  EXPECT_TRUE(tape.empty());
  EXPECT_EQ(y.value, std::exp(7));
  EXPECT_EQ(tape.slopeOf(y), 0);
}

TEST(TapeTest, SeedsOfSeveralResultsAddUp) {
  Tape tape;
  Variable x = tape.variable(3);
  Variable square = x * x, cube = square * x;
  tape.seed(square, 2);
  tape.seed(cube, 10);
  tape.sweep();
  EXPECT_EQ(tape.slopeOf(x), 2 * 6 + 10 * 27);
}

} // namespace

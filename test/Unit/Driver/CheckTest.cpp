//===- CheckTest.cpp - results against the oracle -------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Check.h"
#include "lib/Driver/Conditioning.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;

static constexpr const char *kSpec = R"(
polyattn.attention @signed(%q: tensor<?x?x?x2xf32>, %k: tensor<?x?x?x2xf32>,
                           %v: tensor<?x?x?x2xf32>) -> (o: tensor<?x?x?x2xf32>) {
  %a = read %q : tensor<?x?x?x2xf32> -> [2]
  %b = read %k : tensor<?x?x?x2xf32> -> [2]
  %c = read %v : tensor<?x?x?x2xf32> -> [2]
  %o = attend query %a key %b value %c full normalize <sum, eps = 0.0> {grouping = #polyattn.grouping<block>, signed_scores} : [2], [2], [2]
  return %o : [2]
}
)";

/// Two queries see the keys (1, 0) and (0, -1): the scores of (1, 1 - 2^-12) nearly cancel, those
/// of (1, -1) add up.
static constexpr double kQueries[] = {1, 1 - 0x1p-12, 1, -1};
static constexpr double kKeys[] = {1, 0, 0, -1};
static constexpr double kValues[] = {1, 2, -3, 1};

namespace {

class CheckedRows : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<PolyAttnDialect>();
    module = parseSourceString<ModuleOp>(kSpec, &context);
    ASSERT_TRUE(module);
    attention = *module->getOps<AttentionOp>().begin();
    signature = llvm::cantFail(signatureOf(attention));
    inputs.sizes.batch = inputs.sizes.heads = inputs.sizes.kvHeads = 1;
    inputs.sizes.queries = inputs.sizes.keys = 2;
    for (ArrayRef<double> numbers : {ArrayRef(kQueries), ArrayRef(kKeys), ArrayRef(kValues)})
      inputs.arguments.push_back(tensorOf(numbers));
    expectation = llvm::cantFail(askOracle(attention, inputs, /*seed=*/0, /*reference=*/false));
    right = expectation.results[0].data;
  }

  static HostTensor tensorOf(ArrayRef<double> numbers) {
    HostTensor tensor = llvm::cantFail(allocateTensor(ElementType::F32, {1, 2, 1, 2}));
    tensor.forEach(
        [&](int64_t i, void *address) { storeElement(ElementType::F32, address, numbers[i]); });
    return tensor;
  }

  /// Results whose row `row` is off by the factor.
  CheckReport check(int row, double factor, bool askAgain = true,
                    ElementType arithmetic = ElementType::F32) {
    std::vector<double> numbers = right;
    for (int i = 0; i < 2; ++i)
      numbers[2 * row + i] *= factor;
    Oracle oracle{attention, inputs, arithmetic};
    return compareResults(*signature, expectation, {tensorOf(numbers)},
                          defaultTolerance(*signature, ElementType::F32),
                          askAgain ? &oracle : nullptr);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  AttentionOp attention;
  std::optional<Signature> signature;
  Inputs inputs;
  Expectation expectation;
  std::vector<double> right;
};

} // namespace

TEST_F(CheckedRows, JudgesBadlyConditionedRowsByTheirCondition) {
  CheckReport report = check(/*row=*/0, 1 + 1e-4);
  EXPECT_EQ(report.failure, "");
  EXPECT_GT(report.worstRowError, report.tolerance);
  EXPECT_EQ(report.doubtfulRows, 1);
  EXPECT_EQ(report.illConditionedRows, 1);
  EXPECT_GT(report.condition, 1e3);
  EXPECT_LT(report.condition, 1e5);
}

TEST_F(CheckedRows, FailsBadlyConditionedRowsThatTheirConditionDoesNotExplain) {
  CheckReport report = check(/*row=*/0, 1 + 1e-2);
  EXPECT_NE(report.failure.find("expected a relative error of at most 1e-05"), std::string::npos);
  EXPECT_EQ(report.illConditionedRows, 0);
  EXPECT_GT(report.condition, 1e3);
}

TEST_F(CheckedRows, HoldsWellConditionedRowsToTheTolerance) {
  // The first row is so large that it hides the second one's error, as it always has.
  expectation.selection.rows = {1};
  CheckReport report = check(/*row=*/1, 1 + 2e-5);
  EXPECT_NE(report.failure.find("expected a relative error of at most 1e-05"), std::string::npos);
  EXPECT_EQ(report.doubtfulRows, 1);
  EXPECT_EQ(report.illConditionedRows, 0);
  EXPECT_LT(report.condition, 4);
}

TEST_F(CheckedRows, AcceptsAnyNumberOverADenominatorThatMayBeZero) {
  // Both keys have one value: a row is that value whatever its sum is, unless the sum is zero.
  inputs.arguments[2] = tensorOf({1, 2, 1, 2});
  expectation = llvm::cantFail(askOracle(attention, inputs, /*seed=*/0, /*reference=*/false));
  right = expectation.results[0].data;
  auto check16 = [&](int row) {
    return check(row, /*factor=*/3, /*askAgain=*/true, ElementType::BF16);
  };
  EXPECT_EQ(check16(0).failure, "");
  EXPECT_EQ(check16(0).illConditionedRows, 1);
  EXPECT_NE(check16(1).failure, "");
  EXPECT_NE(check(/*row=*/0, /*factor=*/3).failure, "");
}

TEST_F(CheckedRows, AsksNobodyAboutRowsWithinTheTolerance) {
  CheckReport report = check(/*row=*/0, 1 + 1e-6);
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(report.doubtfulRows, 0);
  EXPECT_EQ(report.condition, 0);
}

TEST_F(CheckedRows, CountsRowsOfRoundingOnlyApart) {
  // The second row is what is left of numbers as large as the first one's.
  double small = 1e-6 * std::abs(expectation.results[0].data[0]);
  for (int i : {2, 3})
    expectation.results[0].data[i] = right[i] = small;
  CheckReport report = check(/*row=*/1, /*factor=*/3);
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(report.roundingRows, 1);
  EXPECT_EQ(report.doubtfulRows, 0);
  EXPECT_LT(report.worstRowError, report.tolerance);
  // What is larger than roundings of the others is an error of its row.
  report = check(/*row=*/1, /*factor=*/100);
  EXPECT_EQ(report.roundingRows, 0);
  EXPECT_GT(report.worstRowError, 50);
}

TEST_F(CheckedRows, AcceptsZeroOfWhatF32CannotHold) {
  auto checkZeros = [&](double size) {
    expectation.results[0].data.assign(4, size);
    right.assign(4, 0);
    return check(/*row=*/0, 1, /*askAgain=*/false).failure;
  };
  EXPECT_EQ(checkZeros(1e-60), "");
  EXPECT_NE(checkZeros(1e-37), "");
}

TEST_F(CheckedRows, HoldsAllRowsToTheToleranceWithoutAnOracle) {
  EXPECT_NE(check(/*row=*/0, 1 + 1e-4, /*askAgain=*/false).failure, "");
}

TEST(Disturbance, ChangesNumbersAsTheirTypeDoes) {
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16}) {
    Arithmetic arithmetic = Arithmetic::of(type);
    for (uint64_t seed : {0, 1}) {
      Disturbance disturbance(arithmetic, seed);
      for (int i = 0; i < 1000; ++i) {
        EXPECT_LE(std::fabs(disturbance(3.0) / 3 - 1), arithmetic.unit);
        // Beside the range: infinite; zero, or the least number on either side.
        EXPECT_EQ(disturbance(-2 * arithmetic.largest), -HUGE_VAL);
        double least = 2 * arithmetic.unit * arithmetic.least, small = disturbance(2.5 * least);
        EXPECT_TRUE(seed == 0 ? small == 0 : small == 2 * least || small == 3 * least) << small;
      }
      EXPECT_EQ(disturbance(0), 0);
      EXPECT_EQ(disturbance(HUGE_VAL), HUGE_VAL);
      EXPECT_TRUE(std::isnan(disturbance(std::nan(""))));
    }
  }
}

TEST(Disturbance, MovesAllNumbersOneWay) {
  Arithmetic arithmetic = Arithmetic::of(ElementType::F32);
  Disturbance up(arithmetic, 0, Disturbance::Way::Upwards);
  Disturbance down(arithmetic, 0, Disturbance::Way::Downwards);
  for (double x : {3.0, -3.0, 1e-30, 1e30}) {
    EXPECT_GT(up(x), x);
    EXPECT_LT(down(x), x);
    EXPECT_NEAR(up(x), x, arithmetic.unit * std::fabs(x) * 1.001);
  }
  EXPECT_EQ(up(0), 0);
  EXPECT_EQ(up(HUGE_VAL), HUGE_VAL);
}

TEST(Disturbance, RoundsToTheNearestNumberOfTheType) {
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16}) {
    Disturbance nearest(Arithmetic::of(type), 0, Disturbance::Way::ToNearest);
    for (double x : {1.0, -1.0, 3.14159265358979, -0.1, 1e30, 1e-30, 1e-39, 1e-7, 65519.0, 65521.0,
                     3.4e38, 3.5e38, 0x1p-127 * 1.3, 0x1.fffffffp3, 0.0, HUGE_VAL})
      EXPECT_EQ(nearest(x), roundTo(type, x)) << x;
    EXPECT_TRUE(std::isnan(nearest(std::nan(""))));
  }
}

/// 2^-120 is the sum of two numbers of tf32 to 16 binary digits, not to 24.
TEST(Disturbance, KnowsWhatSplitNumbersLoseNearTheEndOfTheRange) {
  Disturbance split(Arithmetic::ofSplitTF32(), 1);
  double x = 0x1p-120 * (1 + 0x1p-18), furthest = 0;
  for (int i = 0; i < 100; ++i)
    furthest = std::max(furthest, std::fabs(split(x) - x));
  EXPECT_GT(furthest, 0x1p-139);
  EXPECT_LE(furthest, 0x1p-136);
}

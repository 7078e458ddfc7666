//===- GradientsTest.cpp - wrong gradients are noticed --------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Gradients.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::driver;

namespace {

/// With an eps. relu has a kink; the weight is small enough for each of its elements to be moved
/// alone.
constexpr const char *kSpec = R"mlir(
  polyattn.feature_map @phi(%x: [16], %w: 16x3) {{
    %p = project %x, %w : [16], 16x3
    %y = relu %p : [3]
    yield %y : [3]
  }
  polyattn.attention @a(%q: tensor<?x?x?x16xf32>, %v: tensor<?x?x?x16xf32>, %w: tensor<16x3xf32>)
      -> (o: tensor<?x?x?x16xf32>) {{
    %a = apply @phi(%q, %w) : tensor<?x?x?x16xf32>, tensor<16x3xf32> -> [3]
    %c = read %v : tensor<?x?x?x16xf32> -> [16]
    %o = attend query %a key %a value %c causal normalize <sum, eps = {0}> : [3], [3], [16]
    return %o : [16]
  })mlir";

class GradientCheckTest : public testing::Test {
protected:
  explicit GradientCheckTest(const char *eps = "0.5", const CallSizes &sizes = {2, 12, 12, 2, 2}) {
    context.loadDialect<PolyAttnDialect>();
    module = parseSourceString<ModuleOp>(llvm::formatv(kSpec, eps).str(), &context);
    attention = *module->getOps<AttentionOp>().begin();
    backward = llvm::cantFail(backwardSignature(llvm::cantFail(signatureOf(attention)), {}));
    inputs.sizes = sizes;
    for (const TensorSignature &argument : backward.arguments) {
      inputs.arguments.push_back(
          llvm::cantFail(allocateTensor(argument.type, shapeOf(argument, inputs.sizes))));
      fillRandom(backward, argument, inputs.sizes, /*seed=*/0, inputs.arguments.back());
    }
    auto gradients =
        llvm::cantFail(askGradients(attention, backward, inputs.arguments, inputs.sizes));
    for (auto [signature, gradient] : llvm::zip(backward.results, gradients)) {
      results.push_back(llvm::cantFail(
          allocateTensor(signature.type, shapeOf(signature, inputs.sizes), Layout::Padded)));
      results.back().forEach([&, &gradient = gradient](int64_t linear, void *address) {
        storeElement(ElementType::F32, address, gradient.data[linear]);
      });
    }
  }

  /// What is wrong when `change` is done to each number of the gradient in `name`.
  std::string failureAfter(const std::string &name, llvm::function_ref<double(double)> change) {
    const HostTensor &result = results[backward.findResult(name) - backward.results.data()];
    std::vector<double> before;
    result.forEach([&](int64_t, void *address) {
      before.push_back(loadElement(result.type, address));
      storeElement(result.type, address, change(before.back()));
    });
    CheckReport report = check();
    result.forEach(
        [&](int64_t linear, void *address) { storeElement(result.type, address, before[linear]); });
    return report.failure;
  }
  CheckReport check() {
    return llvm::cantFail(
        checkDifferences(attention, backward, inputs, results, std::nullopt, /*seed=*/0, seconds));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  AttentionOp attention;
  Signature backward;
  Inputs inputs;
  std::vector<HostTensor> results;
  double seconds = 10;
};

TEST_F(GradientCheckTest, RightOnesPass) {
  CheckReport report = check();
  EXPECT_EQ(report.failure, "");
  EXPECT_GE(report.directions, 6); // 178 if there is time
  EXPECT_LT(report.relativeError, 1e-6);
  EXPECT_EQ(report.tolerance, 5e-5);
}

TEST_F(GradientCheckTest, WrongOnesFail) {
  for (const char *name : {"d_q", "d_v", "d_w"}) {
    EXPECT_NE(failureAfter(name, [](double x) { return 1.001 * x; })
                  .find("result '" + std::string(name) + "': expected a relative error"),
              std::string::npos);
    EXPECT_NE(failureAfter(name, [](double) { return 0.0; }), "") << name;
    int64_t element = 0;
    EXPECT_NE(failureAfter(name, [&](double x) { return element++ == 40 ? x + 0.3 : x; }), "")
        << name;
    EXPECT_NE(failureAfter(name, [](double) { return std::nan(""); }), "") << name;
  }
  EXPECT_EQ(check().failure, "");
}

/// On a slow machine the fewest directions see each element, also of a small gradient.
TEST_F(GradientCheckTest, WrongElementsFailWithoutTime) {
  seconds = 0;
  CheckReport report = check();
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(report.directions, 6);
  for (const char *name : {"d_q", "d_v", "d_w"}) {
    int64_t element = 0;
    EXPECT_NE(failureAfter(name, [&](double x) { return element++ == 40 ? x + 0.3 : x; }), "")
        << name;
  }
}

TEST_F(GradientCheckTest, MemoryBetweenRowsIsLookedAt) {
  const HostTensor &result = results[0];
  static_cast<float *>(result.data)[result.sizes[3]] = 1;
  EXPECT_EQ(check().failure, "result 'd_q': memory between its rows was written");
}

/// A call of one token, whose row is its value but for eps: what the query and the key get is what
/// is left of numbers that cancel.
class OneTokenCheckTest : public GradientCheckTest {
protected:
  OneTokenCheckTest() : GradientCheckTest("1.0e-5", {1, 1, 1, 1, 1}) {}

  /// What the check says when `change` is done to the gradient in `name`.
  CheckReport reportAfter(const std::string &name, llvm::function_ref<double(double)> change) {
    const HostTensor &result = results[backward.findResult(name) - backward.results.data()];
    result.forEach([&](int64_t, void *address) {
      storeElement(result.type, address, change(loadElement(result.type, address)));
    });
    Expectation expectation;
    expectation.backward = true;
    expectation.results =
        llvm::cantFail(askGradients(attention, backward, inputs.arguments, inputs.sizes));
    Oracle oracle{attention, inputs, ElementType::F32, &backward};
    return compareResults(backward, expectation, results,
                          defaultTolerance(backward, ElementType::F32), &oracle);
  }
};

TEST_F(OneTokenCheckTest, WhatCancelsIsJudgedByItsCondition) {
  // Its terms are about 1, and rounded to 2^-24.
  CheckReport report = reportAfter("d_q", [](double x) { return x + 0x1p-25; });
  EXPECT_EQ(report.failure, "");
  EXPECT_GT(report.relativeError, report.tolerance);
  EXPECT_EQ(report.illConditionedRows, 1);
  EXPECT_GT(report.condition, 1000);
}

TEST_F(OneTokenCheckTest, WhatConditionDoesNotExplainFails) {
  EXPECT_NE(reportAfter("d_q", [](double x) { return x + 0x1p-14; }).failure, "");
}

TEST_F(OneTokenCheckTest, WhatDoesNotCancelIsHeldToTheTolerance) {
  EXPECT_NE(reportAfter("d_v", [](double x) { return 1.001 * x; }).failure, "");
}

} // namespace

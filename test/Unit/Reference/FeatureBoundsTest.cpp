//===- FeatureBoundsTest.cpp - elements lie within their bounds -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureCases.h"
#include "dialects/PolyAttn/PolyAttn.h"
#include "lib/Reference/FeatureProgram.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

namespace {

class FeatureBoundsTest : public testing::TestWithParam<FeatureCase> {
protected:
  std::vector<double> numbersWithin(Bounds bounds, int64_t count) {
    std::vector<double> numbers(count);
    for (double &x : numbers)
      x = std::uniform_real_distribution<double>(bounds.lower, bounds.upper)(random);
    return numbers;
  }

  /// Gives the map's arguments bounds, and numbers within them.
  void bindArguments(FeatureMapOp map) {
    for (BlockArgument argument : map.getBody().getArguments()) {
      double a = normal(random), b = normal(random);
      Bounds bounds{std::fmin(a, b), std::fmax(a, b)};
      if (std::uniform_int_distribution<int>(0, 3)(random) == 0)
        bounds.lower = std::fabs(bounds.lower), bounds.upper = bounds.lower + std::fabs(b);
      if (auto vector = dyn_cast<FeatureType>(argument.getType())) {
        facts[argument] = {/*degree=*/1, bounds};
        environment.features[argument] =
            FeatureValue<double>::vector(numbersWithin(bounds, vector.getWidth()));
      } else {
        auto weight = cast<WeightType>(argument.getType());
        environment.weights[argument].numbers =
            numbersWithin({-2, 2}, ShapedType::getNumElements(weight.getShape()));
      }
    }
  }

  void expectWithinBounds(Operation *op) {
    std::vector<double> elements = expand(environment.features[op->getResult(0)]);
    Bounds bounds = facts[op->getResult(0)].bounds;
    for (double x : elements) {
      double rounding = 1e-12 * std::fabs(x);
      EXPECT_TRUE(std::isnan(x) || (bounds.lower - rounding <= x && x <= bounds.upper + rounding))
          << op->getName().getStringRef().str() << ": " << x << " outside " << bounds.lower << ", "
          << bounds.upper;
    }
  }

  std::mt19937 random{1};
  std::normal_distribution<double> normal{0, 2};
  llvm::DenseMap<Value, FeatureFacts> facts;
  Environment<double> environment;
};

TEST_P(FeatureBoundsTest, HoldTheElements) {
  if (GetParam().features == 0)
    GTEST_SKIP() << "no features, scores only";
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  std::string spec = "polyattn.feature_map @phi(%x: [6], %z: [6], %w: 6x4, %c: 4x3, %b: 4, %g: 6, "
                     "%h: 6, %f: 2) {\n" +
                     std::string(GetParam().body) + "\nyield %y : " + GetParam().structure + "\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(spec, &context);
  ASSERT_TRUE(module) << spec;
  FeatureMapOp map = *module->getOps<FeatureMapOp>().begin();
  for (int repetition = 0; repetition < 200; ++repetition) {
    bindArguments(map);
    for (Operation &op : map.getBody().front().without_terminator()) {
      evaluateFeatureOp<double>(&op, environment);
      auto feature = dyn_cast<FeatureOpInterface>(op);
      if (!feature)
        continue;
      SmallVector<FeatureFacts> operands;
      for (Value operand : op.getOperands())
        if (isa<FeatureType>(operand.getType()))
          operands.push_back(facts[operand]);
      facts[op.getResult(0)] = feature.getFacts(operands);
      expectWithinBounds(&op);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, FeatureBoundsTest, testing::ValuesIn(kFeatureCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

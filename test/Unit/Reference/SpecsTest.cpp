//===- SpecsTest.cpp - both readings of every spec of the library ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomArguments.h"
#include "SpecLibrary.h"
#include "dialects/PolyAttn/FeatureFacts.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/Evaluate.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace polyattn;

namespace {

/// A state of more features than this would take the test too long.
constexpr int64_t kMaxFeatures = 10000;

void expectReadingsAgree(AttentionOp attention) {
  for (auto attend : attention.getBody().getOps<AttendOp>())
    if (cast<FeatureType>(attend.getKey().getType()).getWidth() > kMaxFeatures ||
        !mayHaveState(attend))
      return;
  CallSizes sizes = smallSizes(attention);
  std::vector<Array> arguments = randomArguments(attention, sizes);
  auto scores = evaluate(attention, arguments, sizes, Reading::Scores);
  auto recurrent = evaluate(attention, arguments, sizes, Reading::Recurrent);
  ASSERT_TRUE(succeeded(scores) && succeeded(recurrent));
  for (auto [a, b] : llvm::zip(*scores, *recurrent)) {
    double difference = 0, size = 0;
    for (auto [x, y] : llvm::zip(a.data, b.data)) {
      difference += (x - y) * (x - y);
      size += y * y;
    }
    EXPECT_TRUE(std::isfinite(size));
    EXPECT_GT(size, 0);
    EXPECT_LT(std::sqrt(difference / size), 1e-9);
  }
}

class SpecsTest : public testing::TestWithParam<std::string> {};

TEST_P(SpecsTest, ScoresAgreeWithState) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  std::string path = specPath(GetParam());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  ASSERT_TRUE(module);
  for (auto attention : module->getOps<AttentionOp>()) {
    SCOPED_TRACE(attention.getSymName().str());
    expectReadingsAgree(attention);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, SpecsTest, testing::ValuesIn(specNames()), specTestName);

} // namespace

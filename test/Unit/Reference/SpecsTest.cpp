//===- SpecsTest.cpp - both readings of every spec of the library ---------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/PolyAttn/FeatureFacts.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "polyattn/Reference/Evaluate.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace polyattn;

namespace {

/// A state of more features than this would take the test too long.
constexpr int64_t kMaxFeatures = 10000;

enum class Use { Vector, Weight, Decay, State };

Use useOf(BlockArgument argument) {
  for (OpOperand &use : argument.getUses())
    if (auto attend = dyn_cast<AttendOp>(use.getOwner()))
      return use.get() == attend.getDecay() ? Use::Decay : Use::State;
  auto tensor = cast<RankedTensorType>(argument.getType());
  return tensor.getNumDynamicDims() >= 2 ? Use::Vector : Use::Weight;
}

/// The sizes of an argument: the leading dynamic ones by its use, the others are its own.
SmallVector<int64_t> shapeOf(BlockArgument argument, const CallSizes &sizes) {
  auto tensor = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> bound;
  switch (useOf(argument)) {
  case Use::Vector:
    bound = {sizes.batch, sizes.queries, sizes.heads};
    if (tensor.getRank() == 3)
      bound.erase(bound.begin());
    break;
  case Use::Weight:
    bound = {sizes.heads};
    break;
  case Use::Decay:
    bound = {sizes.batch, sizes.queries, sizes.heads};
    if (tensor.getRank() == 1)
      bound = {sizes.heads};
    break;
  case Use::State:
    bound = {sizes.batch, sizes.heads};
    break;
  }
  SmallVector<int64_t> shape(tensor.getShape());
  for (size_t d = 0; d < shape.size(); ++d)
    if (ShapedType::isDynamic(shape[d]))
      shape[d] = bound[d];
  return shape;
}

Array randomArgument(BlockArgument argument, const CallSizes &sizes, std::mt19937 &random) {
  Array array(shapeOf(argument, sizes));
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Use use = useOf(argument);
  double rows = array.shape[std::max<int64_t>(0, array.rank() - 2)];
  for (double &x : array.data) {
    if (use == Use::Decay)
      x = std::log(0.9 + 0.1 * uniform(random));
    else if (use == Use::State)
      x = 0.1 * uniform(random);
    else
      x = use == Use::Weight ? normal(random) / std::sqrt(rows) : normal(random);
  }
  return array;
}

void expectReadingsAgree(AttentionOp attention) {
  CallSizes sizes{/*batch=*/1, /*queries=*/9, /*keys=*/9, /*heads=*/2, /*kvHeads=*/2};
  for (auto attend : attention.getBody().getOps<AttendOp>()) {
    if (cast<FeatureType>(attend.getKey().getType()).getWidth() > kMaxFeatures)
      return;
    if (attend.getBlock() && *attend.getBlock() < 100)
      sizes.queries = sizes.keys = *attend.getBlock() + 5; // so that the state is read
    if (attend.getDecayFactors())
      sizes.heads = sizes.kvHeads = attend.getDecayFactors()->size();
  }
  std::mt19937 random(1);
  std::vector<Array> arguments;
  for (BlockArgument argument : attention.getBody().getArguments())
    arguments.push_back(randomArgument(argument, sizes, random));
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
  std::string path = POLYATTN_SPECS "/" + GetParam() + ".mlir";
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  ASSERT_TRUE(module);
  for (auto attention : module->getOps<AttentionOp>()) {
    SCOPED_TRACE(attention.getSymName().str());
    expectReadingsAgree(attention);
  }
}

std::vector<std::string> specNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(POLYATTN_SPECS))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, SpecsTest, testing::ValuesIn(specNames()),
                         [](const testing::TestParamInfo<std::string> &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace

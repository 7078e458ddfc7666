//===- FeatureGradientsTest.cpp - gradients of each feature op ------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeatureCases.h"
#include "GradientChecks.h"
#include "dialects/PolyAttn/OpDispatch.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace polyattn;

namespace {

/// The map in the scores of one attend, of which its features are the values of another.
constexpr const char *kSpec = R"mlir(
  polyattn.feature_map @phi(%x: [6], %z: [6], %w: 6x4, %c: 4x3, %b: 4, %g: 6, %h: 6, %f: 2) {
    BODY
    yield %y : STRUCTURE
  }
  polyattn.attention @a(%q: tensor<?x?x?x6xf32>, %q2: tensor<?x?x?x6xf32>, %k: tensor<?x?x?x6xf32>,
                        %k2: tensor<?x?x?x6xf32>, %v: tensor<?x?x?x2xf32>, %w: tensor<6x4xf32>,
                        %c: tensor<4x3xf32>, %b: tensor<4xf32>, %g: tensor<6xf32>,
                        %h: tensor<6xf32>, %f: tensor<2xf32>)
      -> (o: tensor<?x?x?x2xf32>, s: tensor<?x?x?x1xf32>) {
    %a = apply @phi(%q, %q2, %w, %c, %b, %g, %h, %f) : TENSORS -> STRUCTURE
    %d = apply @phi(%k, %k2, %w, %c, %b, %g, %h, %f) : TENSORS -> STRUCTURE
    %r = read %q : tensor<?x?x?x6xf32> -> [6]
    %t = read %k : tensor<?x?x?x6xf32> -> [6]
    %values = read %v : tensor<?x?x?x2xf32> -> [2]
    %o = attend query %a key %d value %values full normalize <none> : STRUCTURE, STRUCTURE, [2]
    %u = attend query %r key %t value VALUE full normalize <none> : [6], [6], FEATURES
    %s = squared_norm %u : [WIDTH]
    return %o, %s : [2], [1]
  })mlir";

std::string specOf(const FeatureCase &c) {
  std::string spec = kSpec;
  auto replace = [&](const std::string &what, const std::string &text) {
    for (size_t at; (at = spec.find(what)) != std::string::npos;)
      spec.replace(at, what.size(), text);
  };
  replace("BODY", c.body);
  replace("TENSORS", "tensor<?x?x?x6xf32>, tensor<?x?x?x6xf32>, tensor<6x4xf32>, tensor<4x3xf32>, "
                     "tensor<4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<2xf32>");
  replace("VALUE", c.features ? "%d" : "%values");
  replace("FEATURES", c.features ? "STRUCTURE" : "[2]");
  replace("STRUCTURE", c.structure);
  replace("WIDTH", std::to_string(c.features ? c.features : 2));
  return spec;
}

class FeatureGradientsTest : public testing::TestWithParam<FeatureCase> {};

/// Through scores, and through features, which are values of another attend.
TEST_P(FeatureGradientsTest, TapeAgreesWithDifferences) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(specOf(GetParam()), &context);
  ASSERT_TRUE(module) << specOf(GetParam());
  GradientCall call(*module->getOps<AttentionOp>().begin(), {1, 3, 3, 2, 2});
  expectGradientsAreDifferences(call, /*elements=*/4, /*step=*/1e-4);
}

INSTANTIATE_TEST_SUITE_P(Ops, FeatureGradientsTest, testing::ValuesIn(kFeatureCases),
                         [](const auto &info) { return std::string(info.param.name); });

/// Convolutions take vectors of other positions, and stand in no map.
constexpr const char *kConvolutions = R"mlir(
  polyattn.attention @a(%x: tensor<?x?x?x3xf32>, %h: tensor<?x2x3xf32>, %s: tensor<4xf32>)
      -> (o: tensor<?x?x?x3xf32>, p: tensor<?x?x?x3xf32>) {
    %a = read %x : tensor<?x?x?x3xf32> -> [3]
    %f = read %h : tensor<?x2x3xf32> -> 2x3
    %g = read %s : tensor<4xf32> -> 4
    %y = convolve %a, %f : [3], 2x3
    %e = tanh %y : [3]
    %z = convolve %e, %g {circular, reversed} : [3], 4
    %o = hadamard %z, %a : [3], [3]
    %p = convolve %z, %f {reversed} : [3], 2x3
    return %o, %p : [3], [3]
  })mlir";

TEST(FeatureGradients, OfConvolutions) {
  MLIRContext context;
  context.loadDialect<PolyAttnDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kConvolutions, &context);
  ASSERT_TRUE(module);
  for (int64_t positions : {1, 3, 5}) {
    GradientCall call(*module->getOps<AttentionOp>().begin(), {2, positions, positions, 2, 2});
    expectGradientsAreDifferences(call, /*elements=*/4, /*step=*/1e-4);
  }
}

template <typename... Ops> std::vector<std::string> namesOf(polyattn::detail::OpList<Ops...>) {
  std::vector<std::string> names;
  auto add = [&](StringRef name, bool isFeatureOp) {
    if (isFeatureOp)
      names.push_back(name.substr(name.find('.') + 1).str());
  };
  (add(Ops::getOperationName(), Ops::template hasTrait<FeatureOpInterface::Trait>() &&
                                    !Ops::template hasTrait<OnlyInGradients>()),
   ...);
  return names;
}

TEST(FeatureGradients, EveryFeatureOpHasACase) {
  for (const std::string &name : namesOf(polyattn::detail::DialectOps())) {
    auto isIn = [&](StringRef text) { return text.contains("= " + name + " "); };
    EXPECT_TRUE(isIn(kConvolutions) ||
                llvm::any_of(kFeatureCases, [&](const FeatureCase &c) { return isIn(c.body); }))
        << name;
  }
}

} // namespace

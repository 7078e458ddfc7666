//===- CostTest.cpp - operations that an attention needs ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Schedule/Cost.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace polyattn;

namespace {

class CostTest : public testing::Test {
protected:
  CostTest() { context.loadDialect<PolyAttnDialect>(); }

  /// An attention with queries and keys of width 16 and values of width 64.
  AttentionOp parse(const std::string &body, const std::string &structure,
                    const std::string &mask = "causal") {
    std::string x = "tensor<?x?x?x16xf32>", v = "tensor<?x?x?x64xf32>";
    std::string text =
        "polyattn.feature_map @phi(%x: [16]) {\n" + body + "\nyield %y : " + structure +
        "\n}\npolyattn.attention @a(%q: " + x + ", %k: " + x + ", %v: " + v + ") -> (o: " + v +
        ") {\n%a = apply @phi(%q) : " + x + " -> " + structure + "\n%b = apply @phi(%k) : " + x +
        " -> " + structure + "\n%c = read %v : " + v +
        " -> [64]\n%o = attend query %a key %b value %c " + mask +
        " normalize <none> : " + structure + ", " + structure + ", [64]\nreturn %o : [64]\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return *module->getOps<AttentionOp>().begin();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(CostTest, ByHand) {
  AttentionOp attention = parse("%y = elu_plus_one %x : [16]", "[16]");
  // B = 2, T = 1000, H = 4, Hkv = 2; 15 blocks of 64 and one of 40.
  ForwardCost cost = forwardCost(attention, {2, 1000, 1000, 4, 2});
  EXPECT_FALSE(cost.quadratic);
  EXPECT_EQ(cost.programs, 16.0 * 1000 * (2 * 4 + 2 * 2));
  EXPECT_EQ(cost.pairs, 8.0 * (15 * 64 * 65 / 2 + 40 * 41 / 2) * (2 * 16 + 2 * 64));
  EXPECT_EQ(cost.state, 2.0 * 16 * 64 * (8 * (1000 - 64) + 4 * 960));
  EXPECT_EQ(cost.expansion, 0);
}

/// Gradients of keys and of values under (q . k)^2, and the sum of a weight's gradient.
static constexpr char kGradients[] = R"(
polyattn.attention @gradients(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                              %v: tensor<?x?x?x64xf32>, %n: tensor<?x?x?x64xf32>)
    -> (dk: tensor<?x?x?x16xf32>, dv: tensor<?x?x?x64xf32>, dw: tensor<16x64xf32>) {
  %a = read %q : tensor<?x?x?x16xf32> -> [16]
  %b = read %k : tensor<?x?x?x16xf32> -> [16]
  %c = read %v : tensor<?x?x?x64xf32> -> [64]
  %dn = read %n : tensor<?x?x?x64xf32> -> [64]
  %query = tensor %b, %c : [16], [64]
  %key = tensor %a, %dn : [16], [64]
  %dk = attend query %query key %key value %a anticausal normalize <none> {of_keys}
    : [16] x [64], [16] x [64], [16]
  %bb = power 2 %b {symmetric} : [16]
  %aa = power 2 %a {symmetric} : [16]
  %dv = attend query %bb key %aa value %dn anticausal normalize <none> {of_keys}
    : sym 2 [16], sym 2 [16], [64]
  %dw = weight_gradient (%a, %dn) : ([16], [64])
  return %dk, %dv, %dw : [16], [64], 16x64
}
)";

TEST_F(CostTest, GradientsShareASymmetricState) {
  module = parseSourceString<ModuleOp>(kGradients, &context);
  ASSERT_TRUE(module);
  // One head of 64 blocks of 64, all but one of which read a state of 136 x 64 and update it.
  ForwardCost cost = forwardCost(*module->getOps<AttentionOp>().begin(), {1, 4096, 4096, 1, 1});
  EXPECT_FALSE(cost.quadratic);
  EXPECT_EQ(cost.state, 2.0 * 136 * 64 * 4032 * 3);
  EXPECT_EQ(cost.expansion, 4032 * (4 * 136 + 136 + 136.0));
  EXPECT_EQ(cost.programs, 2.0 * 16 * 64 * 4096);
}

TEST_F(CostTest, StatesAloneReadNoQueries) {
  std::string sequence = "tensor<?x?x?x16xf32>", state = "tensor<?x?x16x16xf32>";
  module = parseSourceString<ModuleOp>(
      "polyattn.attention @a(%k: " + sequence + ") -> (s: " + state +
          ") {\n%x = read %k : " + sequence +
          " -> [16]\n%y = elu_plus_one %x : [16]\n%o:2 = attend query %y key %y value %x " +
          "causal normalize <none> {final_state} : [16], [16], [16]\nreturn %o#1 : " + state +
          "\n}\n",
      &context);
  ASSERT_TRUE(module);
  ForwardCost cost = forwardCost(*module->getOps<AttentionOp>().begin(), {2, 1000, 1000, 4, 4});
  EXPECT_EQ(cost.pairs, 0);
  EXPECT_EQ(cost.programs, 16.0 * 1000 * 8);
  EXPECT_EQ(cost.state, 8.0 * 1000 * 2 * 16 * 16);
}

TEST_F(CostTest, WhatAnotherAttendSumsUpIsUpdatedOnce) {
  // 17 features over 8 values, and 8 features over 16 values, which are the first 16 the other way.
  std::string wide = "tensor<?x?x?x16xf32>", narrow = "tensor<?x?x?x8xf32>";
  auto stateOf = [&](const std::string &secondValue) {
    module = parseSourceString<ModuleOp>(
        "polyattn.attention @a(%k: " + wide + ", %q: " + narrow + ") -> (o: " + narrow +
            ", p: " + wide + ") {\n%x = read %k : " + wide + " -> [16]\n%y = read %q : " + narrow +
            " -> [8]\n%one = constant {value = 1.0, width = 1}\n"
            "%z = concat %x, %one : [16], [1]\n%u = relu %x : [16]\n"
            "%o = attend query %z key %z value %y causal normalize <none> : [16] + [1], [16] + "
            "[1], [8]\n%p = attend query %y key %y value " +
            secondValue +
            " causal normalize <none> : [8], [8], [16]\n"
            "return %o, %p : [8], [16]\n}\n",
        &context);
    return module ? forwardCost(*module->getOps<AttentionOp>().begin(), {1, 1088, 1088, 1, 1}).state
                  : 0;
  };
  double reads = 1024 * 2 * (17 * 8 + 8 * 16);
  EXPECT_EQ(stateOf("%x"), reads + 1024 * 2 * (1 * 8 + 8 * 16));
  EXPECT_EQ(stateOf("%u"), 2 * reads);
}

TEST_F(CostTest, ProjectionOfProjectionIsOne) {
  auto programs = [&](int width) {
    std::string r = std::to_string(width);
    std::string text = "polyattn.feature_map @phi(%x: [16], %w1: 16x" + r + ", %w2: " + r +
                       "x16) {\n%p = project %x, %w1 : [16], 16x" + r +
                       "\n%y = project %p, %w2 : [" + r + "], " + r + "x16\nyield %y : [16]\n}\n";
    OwningOpRef<ModuleOp> map = parseSourceString<ModuleOp>(text, &context);
    return programFlops((*map->getOps<FeatureMapOp>().begin()).getFeatures());
  };
  EXPECT_EQ(programs(8), 2 * 16 * 16);
  EXPECT_EQ(programs(7), 2 * (16 * 7 + 7 * 16)); // fewer through a narrow middle
}

TEST_F(CostTest, OneBlockNeedsNoState) {
  AttentionOp attention = parse("%y = elu_plus_one %x : [16]", "[16]");
  ForwardCost cost = forwardCost(attention, {1, 64, 64, 1, 1});
  EXPECT_EQ(cost.state, 0);
  EXPECT_EQ(cost.pairs, 64.0 * 65 / 2 * 160);
  EXPECT_EQ(forwardCost(attention, {1, 0, 0, 1, 1}).total(), 0);
}

TEST_F(CostTest, PowersCountSymmetrically) {
  AttentionOp attention = parse("%y = power 2 %x : [16]", "pow 2 [16]");
  AttendOp attend = *attention.getBody().getOps<AttendOp>().begin();
  EXPECT_EQ(cheapestWidth(attend.getKey()), 136);
  // A tensor product with itself is a power, too; with a constant it is BASED's 1 + 16 + 136.
  attention = parse("%one = constant {value = 1.0, width = 1}\n%xx = tensor %x, %x : [16], [16]\n"
                    "%y = concat %one, %x, %xx : [1], [16], [16] x [16]",
                    "[1] + [16] + [16] x [16]");
  attend = *attention.getBody().getOps<AttendOp>().begin();
  EXPECT_EQ(cheapestWidth(attend.getKey()), 153);
  ForwardCost cost = forwardCost(attention, {1, 4096, 4096, 1, 1});
  EXPECT_EQ(cost.expansion, 2.0 * 136 * (4096 - 64));
}

TEST_F(CostTest, SharedLeavesAndProductsCountOnce) {
  // The score of 1 + s + s^2 / 2 is one inner product of 16 numbers.
  AttentionOp attention =
      parse("%one = constant {value = 1.0, width = 1}\n%xx = power 2 %x {symmetric} : [16]\n"
            "%y = concat %one, %x, %xx : [1], [16], sym 2 [16]",
            "[1] + [16] + sym 2 [16]");
  EXPECT_EQ(forwardCost(attention, {1, 64, 64, 1, 1}).pairs, 64.0 * 65 / 2 * (2 * 16 + 2 * 64));
  // So is the score of a polynomial of a polynomial, whose inner products are formed once, too.
  attention =
      parse("%a = power 2 %x {symmetric} : [16]\n"
            "%b = concat %x, %a : [16], sym 2 [16]\n%c = tensor %x, %b : [16], [16] + sym 2 [16]\n"
            "%y = concat %b, %c : [16] + sym 2 [16], [16] x ([16] + sym 2 [16])",
            "([16] + sym 2 [16]) + ([16] x ([16] + sym 2 [16]))");
  EXPECT_EQ(forwardCost(attention, {1, 64, 64, 1, 1}).pairs, 64.0 * 65 / 2 * (2 * 16 + 2 * 64));
  ForwardCost cost = forwardCost(attention, {1, 1 << 20, 1 << 20, 1, 1});
  EXPECT_EQ(cost.expansion, 2.0 * (136 + 16 * 152) * ((1 << 20) - 64));
}

TEST_F(CostTest, HugeFeaturesAreQuadratic) {
  AttentionOp attention = parse("%y = power 16 %x {symmetric} : [16]", "sym 16 [16]");
  ForwardCost cost = forwardCost(attention, {1, 100000, 100000, 1, 1});
  EXPECT_TRUE(cost.quadratic);
  EXPECT_EQ(cost.pairs, 100000.0 * 100001 / 2 * 160);
}

TEST_F(CostTest, FullMask) {
  AttentionOp attention = parse("%y = elu_plus_one %x : [16]", "[16]", "full");
  ForwardCost cost = forwardCost(attention, {1, 100, 3000, 1, 1});
  EXPECT_EQ(cost.pairs, 0);
  EXPECT_EQ(cost.state, 2.0 * 16 * 64 * (100 + 3000));
}

} // namespace
